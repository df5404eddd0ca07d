// SPDX-License-Identifier: GPL-2.0-or-later
// Compares governors in worlds and on machines: the power of each, and the dissatisfaction of its users.
#pragma once

#include "governor/sim/long_run.h"

#include <functional>
#include <string>
#include <vector>

namespace happe {

// A mean over seeds with its standard error, which is 0 for one seed.
struct Estimate {
    double mean = 0.0;
    double error = 0.0;

    static Estimate of(const std::vector<double>& by_seed);
};

// Every comparison needs these.
constexpr bool is_baseline(Contender contender) {
    return contender == Contender::Ondemand || contender == Contender::Floor || contender == Contender::Oracle;
}

struct WorldsRequest {
    std::vector<sim::World> worlds;
    std::vector<sim::MachineKind> machines;
    std::vector<Contender> contenders;  // the baselines among them
    std::size_t people = 8;             // of each seed
    Micros time = std::chrono::hours{10};
    std::vector<std::uint64_t> seeds;
    std::size_t jobs = 1;
    std::function<void()> run_done;  // called after each machine, world, seed and contender, from several threads
};

// One contender on one machine in one world, by seed.
struct WorldRow {
    std::string machine;
    std::string world;
    Contender contender;
    std::vector<Hours> by_seed;
    std::vector<double> saving_percent;        // percent of ondemand's power
    std::vector<double> oracle_share_percent;  // percent of the oracle's saving
    std::vector<Hours> above_floor;            // difference from the floor's hours of the same seed
};

std::vector<WorldRow> run_worlds(const WorldsRequest& request);

std::string worlds_text(const WorldsRequest& request, const std::vector<WorldRow>& rows);
std::string worlds_json(const WorldsRequest& request, const std::vector<WorldRow>& rows);

}  // namespace happe
