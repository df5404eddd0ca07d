// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/commands/worlds.h"

#include "governor/sim/commands/commands.h"
#include "governor/sim/commands/many_runs.h"
#include "governor/sim/worlds/world_report.h"

#include <fmt/format.h>
#include <sysexits.h>
#include <algorithm>
#include <iostream>

namespace happe {
namespace {

template <typename T>
std::string all_names(std::span<const T> known) {
    std::string names = "all";
    for (const T& each : known) {
        names += fmt::format(", {}", each.name);
    }
    return names;
}

// The named items, each once, in the order of `known`; without a name, the first.
template <typename T>
Result<std::vector<T>> chosen(const char* option, const std::vector<std::string>& names, std::span<const T> known) {
    std::vector<T> result;
    const bool all = std::ranges::find(names, "all") != names.end();
    for (const T& each : known) {
        if (all || std::ranges::find(names, each.name) != names.end()) {
            result.push_back(each);
        }
    }
    for (const std::string& name : names) {
        if (name != "all" && std::ranges::find(known, name, &T::name) == known.end()) {
            return failure(fmt::format("{} {}: unknown; there are {}", option, name, all_names(known)));
        }
    }
    return result.empty() ? std::vector<T>{known.front()} : result;
}

}  // namespace

std::string world_names() {
    return all_names(sim::worlds());
}

std::string machine_names() {
    return all_names(sim::machine_kinds());
}

int study_worlds(const WorldsOptions& options) {
    const auto worlds = chosen("--worlds", options.worlds, sim::worlds());
    const auto machines = chosen("--machines", options.machines, sim::machine_kinds());
    const auto wanted = seeds(options.seed);
    if (!worlds || !machines || !wanted) {
        return complain(!worlds ? worlds.error() : !machines ? machines.error() : wanted.error(), EX_USAGE);
    }
    const auto everybody = contenders();
    WorldsRequest request{
        .worlds = *worlds,
        .machines = *machines,
        .contenders = {everybody.begin(), everybody.end()},
        .people = options.people,
        .time = std::chrono::duration_cast<Micros>(std::chrono::duration<double, std::ratio<3600>>(options.hours)),
        .seeds = *wanted,
        .jobs = options.jobs,
        .run_done = {}};
    Progress progress(machines->size() * worlds->size() * everybody.size() * wanted->size(), options.quiet);
    request.run_done = [&progress] { progress.step(); };
    const auto rows = run_worlds(request);
    progress.clear();
    std::cout << (options.json ? worlds_json(request, rows) : worlds_text(request, rows));
    return flushed(EX_OK);
}

}  // namespace happe
