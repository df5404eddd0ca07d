// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the document that a study server seals for a laptop: profiles/schema/sealed-condition.schema.json.
#pragma once

#include "governor/core/result.h"
#include "governor/documents/run_plan.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace happe {

inline constexpr std::size_t kSealedDocumentBytes = 512;  // the same length for every condition

struct SealedCondition {
    std::string study;
    std::string run;  // the server's code
    RunPlan plan;
    bool operator==(const SealedCondition&) const = default;
};

// Its only error reveals nothing about the document's content.
[[nodiscard]] Result<SealedCondition> read_sealed_condition(std::string_view document);

}  // namespace happe
