// SPDX-License-Identifier: GPL-2.0-or-later
// The record of a run, from what happed kept of it and what people said: profiles/schema/run-record.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace happe::study {

// As happed gives them: a line of JSON each, and a document (docs/dbus.md, "What is kept of a run").
struct Recording {
    std::string trace;
    std::string facts;
};

// What the laptop adds.
struct Spoken {
    std::optional<int> rating;
    std::vector<std::string> notes;
};

// Padded with blanks to a multiple of 64 KiB, since its size would reveal the condition (docs/uploads.md). None if the
// recording can't be read; a parser's reason would quote it, and so might reveal the condition too.
[[nodiscard]] std::optional<std::string> compose_record(const std::string& run, const std::string& id,
                                                        const Recording& recording, const Spoken& spoken);

// Microseconds from its beginning to its end; none if that can't be read.
[[nodiscard]] std::optional<std::int64_t> lasted_us(const Recording& recording);

}  // namespace happe::study
