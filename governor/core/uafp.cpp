// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/uafp.h"

#include <algorithm>
#include <vector>

namespace happe {

Level NormalisedUtilisation::level() const {
    const std::uint64_t tenth = work * Uafp::kLevels / (std::uint64_t{kOne.value} * f_max.value);
    return Level{static_cast<std::uint8_t>(std::min<std::uint64_t>(tenth, Uafp::kLevels - 1))};
}

std::uint64_t NormalisedUtilisation::ppm() const {
    return work / f_max.value;
}

// Compares a/b < c/d within 64 bits: first the quotients, then the remainders, which are below f_max.
bool NormalisedUtilisation::operator<(const NormalisedUtilisation& other) const {
    if (f_max == other.f_max) {
        return work < other.work;
    }
    if (ppm() != other.ppm()) {
        return ppm() < other.ppm();
    }
    return (work % f_max.value) * other.f_max.value < (other.work % other.f_max.value) * f_max.value;
}

std::optional<Uafp> Uafp::from(const Values& khz) {
    if (!std::ranges::is_sorted(khz) || khz.front() == Khz{0} || khz.back() > kHighestKhz) {
        return std::nullopt;
    }
    return Uafp(khz);
}

void Uafp::learn(Level level, Khz khz) {
    khz_.at(level.value) = khz;
    for (Khz& above : std::span(khz_).subspan(level.value)) {
        above = std::max(above, khz);
    }
    for (Khz& below : std::span(khz_).first(level.value)) {
        below = std::min(below, khz);
    }
}

Uafp lower_median(std::span<const Uafp> profiles) {
    Uafp::Values median{};
    std::vector<Khz> column(profiles.size());
    for (std::size_t level = 0; level < Uafp::kLevels; ++level) {
        std::ranges::transform(profiles, column.begin(), [level](const Uafp& uafp) { return uafp.values().at(level); });
        const auto middle = column.begin() + static_cast<std::ptrdiff_t>((column.size() - 1) / 2);
        std::ranges::nth_element(column, middle);
        median.at(level) = *middle;
    }
    Uafp result(median.front());
    for (std::size_t level = 1; level < Uafp::kLevels; ++level) {
        result.learn(Level{static_cast<std::uint8_t>(level)}, median.at(level));
    }
    return result;
}

}  // namespace happe
