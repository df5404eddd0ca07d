// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/kernel_governor.h"

#include <algorithm>
#include <cmath>

namespace happe::sim {
namespace {

// The kernel's CPUFREQ_RELATION_L and _H.
Khz at_or_above(const Ladder& ladder, std::uint64_t khz) {
    return ladder.at_or_above(Khz{static_cast<std::uint32_t>(khz)}, ladder.top());
}

Khz at_or_below(const Ladder& ladder, Khz khz) {
    return ladder.below(Khz{khz.value + 1});
}

}  // namespace

Khz Ondemand::next(const Ladder& ladder, Khz current, Ppm load) {
    if (load > kUpThreshold) {
        return ladder.top();
    }
    if (rule_ == Rule::Linux3_9) {
        const std::uint64_t range = ladder.top().value - ladder.lowest().value;
        return at_or_above(ladder, ladder.lowest().value + range * load.value / kOne.value);
    }
    if (load >= kDownThreshold) {
        return current;
    }
    return at_or_above(ladder, std::uint64_t{current.value} * load.value / kDownThreshold.value);
}

Khz Conservative::next(const Ladder& ladder, Khz current, Ppm load) {
    constexpr Ppm kUp{800'000};
    constexpr Ppm kDown{200'000};
    const std::uint32_t step = ladder.top().value / 20;
    requested_ = requested_ == Khz{0} ? current : requested_;
    if (load > kUp) {
        requested_.value = std::min(requested_.value + step, ladder.top().value);
        return std::max(current, at_or_below(ladder, requested_));
    }
    if (load < kDown) {
        requested_.value = std::max(requested_.value - std::min(step, requested_.value), ladder.lowest().value);
        return at_or_above(ladder, requested_.value);
    }
    return current;
}

Khz Schedutil::next(const Ladder& ladder, Khz current, Ppm load) {
    constexpr double kMargin = 1.25;
    const double speed = static_cast<double>(current.value) / ladder.top().value;
    const bool busy = load == kOne;
    const double half_lives = (busy ? speed : 1.0) * kPeriod.count() / kHalfLife.count();
    const double seen = busy ? 1.0 : speed * load.value / kOne.value;
    util_ = arrived_ ? util_ : seen + (util_ - seen) * std::exp2(-half_lives);
    arrived_ = false;
    return at_or_above(ladder, static_cast<std::uint64_t>(std::max(1.0, kMargin * util_ * ladder.top().value)));
}

void Schedutil::arrive(const KernelGovernor& from) {
    if (const auto* const other = dynamic_cast<const Schedutil*>(&from)) {
        util_ = other->util_;
        arrived_ = true;
    }
}

Khz Udfs::next(const Ladder& ladder, Khz current, Ppm /*load*/) {
    const std::optional<Key> key = pressed_;
    pressed_.reset();
    if (key == Key::Performance) {
        patience_ = std::chrono::duration_cast<Micros>(patience_ * kLonger);
        waited_ = Micros{0};
        return ladder.above(current);
    }
    if (key == Key::Power || waited_ >= patience_) {
        waited_ = Micros{0};
        return ladder.below(current);
    }
    return current;
}

}  // namespace happe::sim
