// SPDX-License-Identifier: GPL-2.0-or-later
// Reads what a study server seals to a laptop: profiles/schema/sealed-condition.schema.json.
#pragma once

#include "governor/core/result.h"
#include "governor/documents/run_plan.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace happe {

inline constexpr std::size_t kSealedDocumentBytes = 512;  // whatever the condition

struct SealedCondition {
    std::string study;
    std::string run;  // the server's code
    RunPlan plan;
    bool operator==(const SealedCondition&) const = default;
};

// The one error there is says nothing of what the document holds.
[[nodiscard]] Result<SealedCondition> read_sealed_condition(std::string_view document);

}  // namespace happe
