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

Machine::Machine(const Ladder& ladder, KernelGovernor& found, double other_watts)
    : policies_{{.id = PolicyId{0}, .cpus = {0, 1}, .ladder = ladder}},
      found_(found),
      other_watts_(other_watts),
      khz_(ladder.lowest()) {}

void Machine::run(Micros time, const Demand& demand) {
    const double seconds = std::chrono::duration<double>(time).count();
    govern();
    for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
        utilisation_.at(cpu) = std::min(1.0, demand.at(cpu) / khz_.value);
        loop_meter_.busy.at(cpu) += utilisation_.at(cpu) * seconds;
        governor_meter_.busy.at(cpu) += utilisation_.at(cpu) * seconds;
    }
    loop_meter_.seconds += seconds;
    governor_meter_.seconds += seconds;
    watts_ = t61_watts(khz_, utilisation_.front()) + other_watts_;
    joules_ += watts_ * seconds;
    busy_seconds_ += utilisation_.front() * seconds;
    seconds_ += seconds;
    governor_waits_ += time;
}

void Machine::govern() {
    if (acquired_ || governor_waits_ < found_.sampling_period()) {
        return;
    }
    khz_ = found_.next(ladder(), khz_, std::max(governor_meter_.share(0), governor_meter_.share(1)));
    governor_meter_ = {};
    governor_waits_ = Micros{0};
}

Result<std::span<const std::optional<Ppm>>> Machine::sample() {
    for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
        sampled_.at(cpu) = loop_meter_.seconds > 0.0 ? std::optional(loop_meter_.share(cpu)) : std::nullopt;
    }
    loop_meter_ = {};
    return std::span<const std::optional<Ppm>>(sampled_);
}

Status Machine::acquire() {
    acquired_ = true;
    return {};
}

Status Machine::set(PolicyId policy, Khz khz) {
    if (policy != policies_.front().id || !acquired_) {
        return failure(fmt::format("policy {}: not ours to set", policy.value));
    }
    khz_ = khz;
    return {};
}

Status Machine::release() {
    acquired_ = false;
    governor_meter_ = {};
    governor_waits_ = Micros{0};
    return {};
}

}  // namespace happe::sim
