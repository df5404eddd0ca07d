// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/kernel_governor.h"

#include <algorithm>

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

}  // namespace happe::sim
