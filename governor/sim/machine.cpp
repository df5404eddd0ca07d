// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/machine.h"

#include "governor/sim/power_model.h"

#include <fmt/format.h>
#include <algorithm>
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

}  // namespace happe::sim
