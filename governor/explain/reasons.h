// SPDX-License-Identifier: GPL-2.0-or-later
// Explains why HAPPE chose the present frequency and what it tries next. happectl and the owner's window use this.
#pragma once

#include "governor/bus/shown_state.h"
#include "governor/core/frequency_control.h"
#include "governor/store/learning_event.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace happe {

// The properties of happed that explain its decision (docs/dbus.md).
struct Situation {
    std::vector<Policy> policies;
    std::vector<Target> targets;
    std::vector<PolicyLimits> limits;
    std::vector<SampledPolicy> sample;
    std::optional<Uafp> profile;
    ShownDescent descent;
    std::string saver;  // a program that asks for one step lower; empty: none
};

// The facts in the sentences, about the busiest policy and its level.
struct Reasons {
    Khz decided;
    Level level;                          // the level of the look-up
    std::optional<LearningEvent> taught;  // the newest lesson that gave this level its frequency
    std::optional<PolicyLimits> limits;   // only limits that forbid the frequency
    ShownDescent descent;
    bool lowest = false;  // the decided frequency is the ladder's lowest
    bool top = false;     // the profile has the ladder's top at this level
    std::string saver;    // Situation::saver
};

// Empty if happed has decided nothing, or hides it. `events`: the lessons of the profile, oldest first.
[[nodiscard]] std::optional<Reasons> reasons(const Situation& situation, std::span<const LearningEvent> events);

// How a program writes the values in the sentences.
struct Wording {
    std::function<std::string(Khz)> frequency;
    std::function<std::string(Level)> level;
};

// Sentences about the application of this name. `time`: the time of the lesson, in words.
[[nodiscard]] std::string why(const Reasons& reasons, const std::string& application, const std::string& time,
                              const Wording& wording);
[[nodiscard]] std::string what_next(const Reasons& reasons, const Wording& wording);

// The answer to a press of "faster" where the profile has nothing faster. `top`: of the fastest ladder. Names a limit
// below it.
[[nodiscard]] std::string at_the_top(std::span<const PolicyLimits> limits, Khz top,
                                     const std::function<std::string(Khz)>& frequency);

}  // namespace happe
