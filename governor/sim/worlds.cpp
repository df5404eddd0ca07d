// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/worlds.h"

#include "governor/sim/office.h"

#include <array>

namespace happe::sim {
namespace {

constexpr World kPlausible{
    .name = "plausible", .save_presses = 0.2, .never_save = 0.3, .drift = 0.2, .scenes = 0.1, .slips_an_hour = 0.3};

// With the people of another world.
constexpr World office(World world) {
    world.name = "office";
    world.office = true;
    return world;
}

constexpr std::array kWorlds{
    World{.name = "fitted"},
    World{.name = "drift", .drift = 0.2},
    World{.name = "scenes", .scenes = 0.1},
    World{.name = "need-follows-demand", .need_follows = true},
    World{.name = "mains-and-battery", .mains_need = 1.3},
    World{.name = "never-saves", .never_save = 1.0},
    World{.name = "accidents", .slips_an_hour = 2.0},
    kPlausible,
    World{.name = "mostly-idle", .calm_share = 0.9, .calm_seconds = 54.0, .calm_of_busy = 0.05},
    World{.name = "load-jump", .calm_share = 0.5, .calm_seconds = 20.0, .calm_of_busy = 0.1, .busy = 1.5},
    office(kPlausible),
};

constexpr double kOfficeNeedSpread = 0.3;  // of people's needs, a standard deviation of the logarithm (assumed)

constexpr std::uint32_t kModernSteps = 32;
constexpr Khz kModernTop{4'800'000};

Ladder modern_ladder() {
    std::array<Khz, kModernSteps> khz{};
    constexpr std::uint32_t lowest = 400'000;
    for (std::uint32_t step = 0; step < kModernSteps; ++step) {
        khz.at(step) = Khz{lowest + (kModernTop.value - lowest) * step / (kModernSteps - 1)};
    }
    return *Ladder::from(khz);
}

// 7 W, and for each CPU 15 W * utilisation * f / f_max * (V / V_max)^2, where the voltage rises evenly from 0.6 V to
// 1.2 V.
double modern_watts(std::span<const Load> by_cpu) {
    constexpr double kRest = 7.0;
    constexpr double kCpu = 15.0;
    double watts = kRest;
    for (const Load& cpu : by_cpu) {
        const double speed = static_cast<double>(cpu.khz.value) / kModernTop.value;
        const double volts = 0.5 + 0.5 * speed;  // of V_max
        watts += kCpu * cpu.utilisation * speed * volts * volts;
    }
    return watts;
}

Hardware modern() {
    return {.policies = {{.id = PolicyId{0}, .cpus = {0, 1}, .ladder = modern_ladder()}}, .watts = modern_watts};
}

Hardware roaming() {
    Hardware hardware{.policies = {}, .watts = modern_watts, .moves_every = std::chrono::seconds{1}};
    for (std::uint16_t cpu = 0; cpu < 8; ++cpu) {
        hardware.policies.push_back({.id = PolicyId{cpu}, .cpus = {cpu}, .ladder = modern_ladder()});
    }
    return hardware;
}

constexpr std::array kMachines{
    MachineKind{"t61", t61_hardware, true},
    MachineKind{"modern", modern},
    MachineKind{"8-cpus", roaming},
};

}  // namespace

std::span<const World> worlds() {
    return kWorlds;
}

std::span<const MachineKind> machine_kinds() {
    return kMachines;
}

Participants people_of(const World& world, Participants people, double speed) {
    for (ApplicationParameters& application : people.applications) {
        WorkloadParameters& workload = application.workload;
        application.thrift *= world.save_presses;
        application.need_khz *= speed;
        workload.busy_khz *= speed * world.busy;
        workload.calm_khz *= speed;
        if (world.calm_share > 0.0) {
            workload.calm_share = world.calm_share;
            workload.calm_seconds = world.calm_seconds;
            workload.calm_khz = workload.busy_khz * world.calm_of_busy;
        }
    }
    for (std::size_t i = 0; world.office && i < office_applications().size(); ++i) {
        ApplicationParameters& application = people.applications.at(i);
        application.name = office_applications()[i].name;
        application.need_khz = office_applications()[i].need() * speed * t61_ladder().top().value;
        application.need_spread = kOfficeNeedSpread;
        application.unsatisfied_share = 0.0;
        application.other_watts = 0.0;
    }
    return people;
}

}  // namespace happe::sim
