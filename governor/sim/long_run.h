// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates hours at a machine: one person uses several applications again and again under one governor, in a world:
// the needs and habits of people over hours, beyond the two minutes that the fit covers. docs/worlds.md lists each
// number of the worlds; all are assumed.
#pragma once

#include "governor/sim/machine.h"
#include "governor/sim/participants_document.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace happe::sim {

struct World {
    std::string_view name;
    double save_presses = 1.0;   // factor for the fitted rate
    double never_save = 0.0;     // share of people who never press the power key
    double drift = 0.0;          // standard deviation of the need's logarithm over hours
    double scenes = 0.0;         // the same between scenes of about two minutes
    bool need_follows = false;   // a person needs a share of the demand
    double mains_need = 1.0;     // factor for the need on mains: in a random half of the sittings
    double slips_an_hour = 0.0;  // accidental presses per hour, of either key; from a random stream of their own
    double calm_share = 0.0;     // above 0: share of the time, in spells of `calm_seconds`
    double calm_seconds = 0.0;
    double calm_of_busy = 0.0;  // demand in a calm spell, as a share of that in a busy one
    double busy = 1.0;          // factor for the fitted demand
    bool office = false;        // other applications, and lag instead of shortfalls: office.h
};

std::span<const World> worlds();

// The parameters of `people` in `world`, on a machine that is `speed` times as fast as the T61.
Participants people_of(const World& world, Participants people, double speed);

struct MachineKind {
    std::string_view name;
    Hardware (*hardware)();
    bool is_t61 = false;  // the only one with a measured power
};

std::span<const MachineKind> machine_kinds();

}  // namespace happe::sim

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
