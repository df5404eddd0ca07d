// SPDX-License-Identifier: GPL-2.0-or-later
// The work that a game wants from the CPU while one participant plays it once.
#pragma once

#include "governor/sim/machine.h"
#include "governor/sim/random.h"

namespace happe::sim {

// All values are fitted to the paper; see governor/sim/commands/fit.py.
struct WorkloadParameters {
    double busy_khz = 0.0;            // demand of a busy game, for the median participant
    double participant_spread = 0.0;  // standard deviation of its logarithm between participants
    double drift_spread = 0.0;        // the same over seconds within a run, as scenes change
    double flicker_spread = 0.0;      // the same from one step of time to the next
    double calm_khz = 0.0;            // demand in menus, between races, while waiting
    double calm_share = 0.0;          // share of the time
    double calm_seconds = 6.0;        // mean length of a calm spell (assumed)
};

class Workload {
public:
    // `style`: this participant's way to play, standard normal.
    Workload(const WorkloadParameters& parameters, double style, Random random);

    // Demand over the next step of time.
    Demand next(double seconds);

private:
    WorkloadParameters parameters_;
    double scale_;
    Random random_;
    bool calm_ = false;
    double drift_;
};

}  // namespace happe::sim
