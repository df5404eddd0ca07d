// SPDX-License-Identifier: GPL-2.0-or-later
// The record of a run, from happed's recording and people's answers: profiles/schema/run-record.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace happe::study {

// happed's recording of a run: a trace with a line of JSON for each turn, and a document (docs/dbus.md, "What is kept
// of a run").
struct Recording {
    std::string trace;
    std::string facts;
};

// The laptop's additions to the record.
struct Answers {
    std::optional<int> rating;
    std::vector<std::string> notes;
};

// Pads the record with blanks to a multiple of 64 KiB, because its size would reveal the condition (docs/uploads.md).
// None if it cannot read the recording; it gives no reason, because a parser's message might reveal the condition too.
[[nodiscard]] std::optional<std::string> compose_record(const std::string& run, const std::string& id,
                                                        const Recording& recording, const Answers& answers);

// The microseconds from the run's beginning to its end; none if it cannot read them.
[[nodiscard]] std::optional<std::int64_t> lasted_us(const Recording& recording);

}  // namespace happe::study
