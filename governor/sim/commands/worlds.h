// SPDX-License-Identifier: GPL-2.0-or-later
// happe-sim study --worlds: simulates hours in named worlds instead of the paper's study.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace happe {

struct WorldsOptions {
    std::vector<std::string> worlds;
    std::vector<std::string> machines;
    double hours = 10.0;
    std::size_t people = 8;
    std::string seed;
    std::size_t jobs = 1;
    bool json = false;
    bool quiet = false;
};

std::string world_names();  // "all, fitted, ..."
std::string machine_names();

int study_worlds(const WorldsOptions& options);

}  // namespace happe
