// SPDX-License-Identifier: GPL-2.0-or-later
// Why HAPPE has decided on the present frequency, and what it tries next: for happectl, and for the owner's window in
// its user's language.
#pragma once

#include "governor/bus/shown_state.h"
#include "governor/core/frequency_control.h"
#include "governor/core/policy_limits.h"
#include "governor/store/learning_event.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace happe {

// What happed shows of itself (docs/dbus.md).
struct Situation {
    std::vector<Policy> policies;
    std::vector<Target> targets;
    std::vector<PolicyLimits> limits;
    std::vector<SampledPolicy> sample;
    std::optional<Uafp> profile;
    ShownDescent descent;
    std::string saver;  // a program that asks for one step less; empty: none
};

// What the sentences are made from: the busiest policy and its level.
struct Reasons {
    Khz decided;
    Level level;                          // the one at which the profile was looked up
    std::optional<LearningEvent> taught;  // the newest lesson that gave this level its frequency
    std::optional<PolicyLimits> limits;   // only limits that do not allow the frequency
    ShownDescent descent;
    bool lowest = false;  // of the ladder
    std::string saver;    // as in Situation
};

// Nothing if happed has decided nothing, or does not show it. `events`: the lessons of the profile, oldest first.
[[nodiscard]] std::optional<Reasons> reasons(const Situation& situation, std::span<const LearningEvent> events);

// How a program words what the sentences contain.
struct Wording {
    std::function<std::string(const char* english)> translated;  // a text with the same names in braces
    std::function<std::string(Khz)> frequency;
    std::function<std::string(Level)> level;
};

// A sentence each, about an application of this name. `time`: of the lesson, in words.
[[nodiscard]] std::string why(const Reasons& reasons, const std::string& application, const std::string& time,
                              const Wording& wording);
[[nodiscard]] std::string what_next(const Reasons& reasons, const Wording& wording);

}  // namespace happe
