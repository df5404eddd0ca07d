// SPDX-License-Identifier: GPL-2.0-or-later
// Worlds and machines for long runs: the needs and habits of people over hours, beyond the two minutes that the fit
// covers. docs/worlds.md lists each number; all are assumed.
#pragma once

#include "governor/sim/machine.h"
#include "governor/sim/participants_document.h"

#include <span>
#include <string_view>

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
