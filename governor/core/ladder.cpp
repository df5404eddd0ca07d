// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/ladder.h"

#include <algorithm>
#include <functional>

namespace happe {
namespace {

bool is_ascending(std::span<const Khz> khz) {
    const bool strictly = std::ranges::adjacent_find(khz, std::ranges::greater_equal{}) == khz.end();
    return strictly && !khz.empty() && khz.front() > Khz{0} && khz.back() <= kHighestKhz;
}

std::uint64_t product(Khz a, Khz b) {
    return std::uint64_t{a.value} * b.value;
}

}  // namespace

std::optional<Ladder> Ladder::from(std::span<const Khz> khz, std::span<const Khz> speed_khz) {
    if (speed_khz.empty()) {
        speed_khz = khz;
    }
    if (khz.size() > kMaxSteps || khz.size() != speed_khz.size() || !is_ascending(khz) || !is_ascending(speed_khz)) {
        return std::nullopt;
    }
    std::vector<Step> steps;
    for (std::size_t i = 0; i < khz.size(); ++i) {
        steps.push_back({khz[i], speed_khz[i]});
    }
    return Ladder(std::move(steps));
}

Khz Ladder::above(Khz khz) const {
    const auto found = std::ranges::upper_bound(steps_, khz, {}, &Step::khz);
    return found == steps_.end() ? top() : found->khz;
}

Khz Ladder::below(Khz khz) const {
    const auto found = std::ranges::lower_bound(steps_, khz, {}, &Step::khz);
    return found == steps_.begin() ? lowest() : std::prev(found)->khz;
}

Khz Ladder::at_or_above(Khz khz, Khz scale) const {
    const auto needed = product(khz, top());
    const auto found =
        std::ranges::lower_bound(steps_, needed, {}, [scale](const Step& step) { return product(step.khz, scale); });
    return found == steps_.end() ? top() : found->khz;
}

Khz Ladder::speed(Khz khz) const {
    const auto found = std::ranges::lower_bound(steps_, khz, {}, &Step::khz);
    return found != steps_.end() && found->khz == khz ? found->speed : khz;
}

const Ladder& t61_ladder() {
    static const Ladder ladder = *Ladder::from(kT61Khz);
    return ladder;
}

std::vector<Khz> Ladder::khz() const {
    std::vector<Khz> all(size());
    std::ranges::transform(steps_, all.begin(), &Step::khz);
    return all;
}

}  // namespace happe
