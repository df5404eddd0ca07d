// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates hours at a machine: one person uses several applications again and again under one governor.
#pragma once

#include "governor/sim/worlds/worlds.h"

#include <cstdint>
#include <string_view>

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
    Extended,  // HAPPE in mode `extended`: middle start, hold and descent
    Oracle,
};

std::span<const Contender> contenders();
std::string_view name_of(Contender contender);

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
    double dissatisfied = 0.0;         // seconds a minute in which the person felt a shortfall
    double first_dissatisfied = 0.0;   // the same in the first ten minutes with each application
    double performance_presses = 0.0;  // per hour; a burst counts once
    double power_presses = 0.0;
};

// A seed draws the same people, needs and demands for every contender, and the same people for every world.
Hours live_hours(const LongRunPlan& plan, Contender contender, std::uint64_t seed);

}  // namespace happe
