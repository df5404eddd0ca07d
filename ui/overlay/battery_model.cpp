// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/battery_model.h"

#include <algorithm>

namespace happe::ui {
namespace {

constexpr double kMargin = 1.25;
constexpr double kBusy = 0.99;  // the kernel's counters show slightly less for a busy CPU

}  // namespace

Seconds remaining(double joules, double watts) {
    return watts > 0.0 ? std::clamp(Seconds(joules / watts), Seconds::zero(), kLongest) : kLongest;
}

Seconds gained(double joules, double before, double after) {
    return remaining(joules, after) - remaining(joules, before);
}

void SimulatedBattery::draw(double watts, Seconds time) {
    joules_ = std::max(0.0, joules_ - std::max(0.0, watts) * std::max(0.0, time.count()));
}

Spent under_schedutil(const Spent& spent, std::span<const std::uint32_t> speeds) {
    if (spent.utilisation >= kBusy) {
        return {.khz = speeds.back(), .utilisation = 1.0, .time = spent.time};
    }
    const double work = spent.utilisation * spent.khz;
    const auto enough = std::ranges::find_if(speeds, [&](std::uint32_t khz) { return khz >= kMargin * work; });
    const std::uint32_t khz = enough == speeds.end() ? speeds.back() : *enough;
    return {.khz = khz, .utilisation = std::min(1.0, work / khz), .time = spent.time};
}

std::optional<Saving> saving_of(std::span<const Spent> spent, std::span<const std::uint32_t> speeds,
                                const PowerModel& model) {
    double with_happe = 0.0;  // joules
    double without = 0.0;
    Seconds time{};
    for (const Spent& each : spent) {
        with_happe += model.watts(each.khz, each.utilisation) * each.time.count();
        if (!speeds.empty()) {
            const Spent kernel = under_schedutil(each, speeds);
            without += model.watts(kernel.khz, kernel.utilisation) * kernel.time.count();
        }
        time += each.time;
    }
    if (speeds.empty() || time <= Seconds::zero()) {
        return std::nullopt;
    }
    return Saving{.joules = without - with_happe, .watts = with_happe / time.count()};
}

}  // namespace happe::ui
