// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/machine.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>

namespace happe::sim {

Ppm Machine::Meter::share(std::size_t cpu) const {
    if (seconds <= 0.0) {
        return Ppm{0};
    }
    const double share = std::round(busy.at(cpu) / seconds * kOne.value);
    return Ppm{std::min(static_cast<std::uint32_t>(share), kOne.value)};
}

void Machine::Meter::reset() {
    std::ranges::fill(busy, 0.0);
    seconds = 0.0;
}

// Power depends only on CPU 0, as in Table A.2.
Hardware t61_hardware() {
    return {.policies = {{.id = PolicyId{0}, .cpus = {0, 1}, .ladder = t61_ladder()}},
            .watts = [](std::span<const Load> by_cpu) {
                return t61_watts(by_cpu.front().khz, by_cpu.front().utilisation);
            }};
}

Machine::Machine(Hardware hardware, std::vector<KernelGovernor*> found, double other_watts)
    : hardware_(std::move(hardware)), found_(std::move(found)), other_watts_(other_watts) {
    for (const Policy& policy : hardware_.policies) {
        policy_of_.resize(policy_of_.size() + policy.cpus.size(), khz_.size());
        khz_.push_back(policy.ladder.lowest());
    }
    loads_.resize(policy_of_.size());
    sampled_.resize(policy_of_.size());
    loop_meter_.busy.resize(policy_of_.size());
    governor_meter_.busy.resize(policy_of_.size());
}

void Machine::run(Micros time, const Demand& demand) {
    const double seconds = std::chrono::duration<double>(time).count();
    move(time);
    govern();
    for (std::size_t cpu = 0; cpu < loads_.size(); ++cpu) {
        const std::size_t thread = (cpu + loads_.size() - cpu_) % loads_.size();
        const Khz khz = khz_[policy_of_[cpu]];
        loads_[cpu] = {khz, thread < demand.size() ? std::min(1.0, demand.at(thread) / khz.value) : 0.0};
        loop_meter_.busy[cpu] += loads_[cpu].utilisation * seconds;
        governor_meter_.busy[cpu] += loads_[cpu].utilisation * seconds;
    }
    loop_meter_.seconds += seconds;
    governor_meter_.seconds += seconds;
    watts_ = hardware_.watts(loads_) + other_watts_;
    joules_ += watts_ * seconds;
    busy_seconds_ += utilisation() * seconds;
    seconds_ += seconds;
    governor_waits_ += time;
}

// Moves the application's thread to the next CPU when its time here is over.
void Machine::move(Micros time) {
    if (hardware_.moves_every == Micros{0}) {
        return;
    }
    stayed_ += time;
    if (stayed_ > hardware_.moves_every) {
        stayed_ = time;
        const std::size_t from = here();
        cpu_ = (cpu_ + 1) % loads_.size();
        found_[here()]->arrive(*found_[from]);
    }
}

void Machine::govern() {
    if (acquired_ || governor_waits_ < found_.front()->sampling_period()) {
        return;
    }
    for (std::size_t policy = 0; policy < khz_.size(); ++policy) {
        Ppm busiest{0};
        for (const unsigned cpu : hardware_.policies[policy].cpus) {
            busiest = std::max(busiest, governor_meter_.share(cpu));
        }
        khz_[policy] = found_[policy]->next(hardware_.policies[policy].ladder, khz_[policy], busiest);
    }
    governor_meter_.reset();
    governor_waits_ = Micros{0};
}

Result<std::span<const std::optional<Ppm>>> Machine::sample() {
    for (std::size_t cpu = 0; cpu < sampled_.size(); ++cpu) {
        sampled_[cpu] = loop_meter_.seconds > 0.0 ? std::optional(loop_meter_.share(cpu)) : std::nullopt;
    }
    loop_meter_.reset();
    return std::span<const std::optional<Ppm>>(sampled_);
}

Status Machine::acquire() {
    acquired_ = true;
    return {};
}

Status Machine::set(PolicyId policy, Khz khz) {
    if (policy.value >= khz_.size() || !acquired_) {
        return failure(fmt::format("policy {}: not ours to set", policy.value));
    }
    khz_[policy.value] = khz;
    return {};
}

Status Machine::release() {
    acquired_ = false;
    governor_meter_.reset();
    governor_waits_ = Micros{0};
    return {};
}

namespace {

constexpr std::size_t kTenths = 11;

// Table A.2, upper half: watts at 0 %, 10 % ... 100 % of CPU 0, a row for each frequency.
constexpr std::array<std::array<double, kTenths>, kT61Khz.size()> kWatts{{
    {24.40, 24.80, 25.22, 25.03, 25.37, 25.81, 25.81, 26.41, 26.60, 26.69, 26.74},
    {25.73, 26.02, 26.34, 25.95, 26.92, 27.40, 27.80, 27.92, 27.94, 28.15, 28.55},
    {26.14, 26.73, 27.30, 27.93, 28.55, 29.51, 29.86, 30.00, 30.50, 31.19, 32.27},
    {29.35, 30.01, 30.81, 31.91, 32.77, 33.79, 34.87, 36.00, 37.25, 38.52, 40.18},
    {30.72, 32.01, 33.07, 34.75, 35.55, 36.78, 39.06, 40.52, 42.24, 43.62, 45.04},
}};

double along_utilisation(const std::array<double, kTenths>& row, double utilisation) {
    const double tenths = std::clamp(utilisation, 0.0, 1.0) * (kTenths - 1);
    const auto left = std::min(static_cast<std::size_t>(tenths), kTenths - 2);
    const double share = tenths - static_cast<double>(left);
    return row.at(left) + share * (row.at(left + 1) - row.at(left));
}

}  // namespace

double t61_watts(Khz khz, double utilisation) {
    const auto* const upper = std::ranges::lower_bound(kT61Khz, khz);
    if (upper == kT61Khz.end()) {
        return along_utilisation(kWatts.back(), utilisation);
    }
    const auto index = static_cast<std::size_t>(upper - kT61Khz.begin());
    const double above = along_utilisation(kWatts.at(index), utilisation);
    if (index == 0 || *upper == khz) {
        return above;
    }
    const double below = along_utilisation(kWatts.at(index - 1), utilisation);
    const double share = static_cast<double>(khz.value - kT61Khz.at(index - 1).value) /
                         static_cast<double>(upper->value - kT61Khz.at(index - 1).value);
    return below + share * (above - below);
}

}  // namespace happe::sim
