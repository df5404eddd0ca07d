// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/power_model.h"

#include <algorithm>
#include <array>

namespace happe::sim {
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
