// SPDX-License-Identifier: GPL-2.0-or-later
// Why HAPPE has decided on the present frequency, and what it tries next.
#pragma once

#include "governor/bus/daemon_interface.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace happe::ctl {

// What the sentences are made from: the busiest policy and its level.
struct Reasons {
    Khz decided;
    Level level;                          // the one at which the profile was looked up
    std::optional<LearningEvent> taught;  // the newest lesson that gave this level its frequency
    std::optional<PolicyLimits> limits;   // only limits that do not allow the frequency
    ShownDescent descent;
    bool lowest = false;  // of the ladder
    std::string saver;    // a program that asks for one step less; empty: none
};

// Nothing if happed has decided nothing, or does not show it. `events`: the lessons of the profile, oldest first.
std::optional<Reasons> reasons(const Properties& state, std::span<const LearningEvent> events);

// A sentence each, about an application of this name. `local`: the time of a lesson in words.
std::string why(const Reasons& reasons, const std::string& application, const std::string& local);
std::string what_next(const Reasons& reasons);

}  // namespace happe::ctl
