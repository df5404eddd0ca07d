// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace happe {

// The plan of a study's run.
struct RunPlan {
    std::string condition;                          // ondemand, T-HAPPE, O-HAPPE, B-HAPPE, L-HAPPE, fixed-N
    std::string subject;                            // the participant's code
    std::string application;                        // empty: every application that the person at the machine uses
    std::optional<std::uint32_t> sampling_rate_us;  // of ondemand
    std::optional<std::uint32_t> up_threshold;      // of ondemand, percent
    std::string epp;                                // energy performance preference, one of kEpps; empty: unchanged
    bool raised = false;                            // begins with the trained profile, raised by one step
    bool indicator = false;                         // the battery indicator is on the screen
    bool sham = false;                              // happed records presses of the keys, which have no effect
    bool operator==(const RunPlan&) const = default;
};

}  // namespace happe
