// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/result.h"
#include "governor/documents/run_plan.h"

#include <cstddef>
#include <cstdint>

namespace happe {

// A study's condition (section A.5; "fixed-N" is section A.3's).
struct RunCondition {
    enum class Rule : std::uint8_t { Ondemand, Training, Operating, Fixed };
    Rule rule = Rule::Ondemand;
    std::size_t step = 0;   // for Fixed: 0 is the ladder's lowest
    bool extended = false;  // for Operating: in mode `extended`

    [[nodiscard]] bool is_happe() const { return rule == Rule::Training || rule == Rule::Operating; }
    bool operator==(const RunCondition&) const = default;
};

// The plan's condition, for a machine with `steps` frequencies: "ondemand", "T-HAPPE", "O-HAPPE", "B-HAPPE" (the daemon
// treats it as O-HAPPE), "L-HAPPE" (O-HAPPE in mode `extended`), "fixed-1" to "fixed-`steps`". An error names the wrong
// member of the plan.
[[nodiscard]] Result<RunCondition> condition_of(const RunPlan& plan, std::size_t steps);

}  // namespace happe
