// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates hours at a machine: one person uses several applications again and again under one governor, in a world.
#pragma once

#include "governor/sim/participants_document.h"
#include "governor/sim/worlds.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace happe {

// The governors to compare. Each gets the same hours.
enum class Contender : std::uint8_t {
    Ondemand,     // as in the paper's kernel: the baseline of all savings
    OndemandNow,  // as since Linux 3.9
    Schedutil,
    Conservative,
    FixedCap,    // ondemand-now below about half of the top frequency
    LearnedCap,  // ondemand-now below one number for each application, which the two keys move
    Udfs,
    Happe,
    SingleSteps,  // HAPPE in mode `extended` without parts: a press moves one step, from half of the top
    Extended,     // HAPPE in mode `extended`
    Floor,        // always the top frequency, with keys: the presses and the discomfort that no governor avoids
    KnownCap,     // schedutil below one number for each application: the person's need and 16 % more
    Oracle,
};

std::span<const Contender> contenders();
std::string_view name_of(Contender contender);
bool has_keys(Contender contender);  // its people

struct LongRunPlan {
    Participants people;  // as fitted
    sim::World world;
    sim::MachineKind machine;
    std::size_t count = 8;  // of people
    Micros time = std::chrono::hours{10};
};

// Means over the people of one seed.
struct Hours {
    double watts = 0.0;
    double dissatisfied = 0.0;         // seconds a minute in which the person felt a shortfall of 10 % or more
    double first_dissatisfied = 0.0;   // the same in the first ten minutes with each application
    double later_dissatisfied = 0.0;   // the same after the first hour
    double severity = 0.0;             // the mean of the felt shortfall over all seconds, in percent
    double performance_presses = 0.0;  // per hour; a burst counts once
    double power_presses = 0.0;
    std::vector<double> faster_by_hour;  // performance presses in each hour; the last one may be shorter
};

// A seed draws the same people, needs and demands for every contender, and the same people for every world.
Hours live_hours(const LongRunPlan& plan, Contender contender, std::uint64_t seed);

}  // namespace happe
