// SPDX-License-Identifier: GPL-2.0-or-later
// What HAPPE has saved against the kernel's governor, by a power model: docs/indicator.md, "Today's saving".
#pragma once

#include "ui/overlay/battery_model.h"

#include <cstdint>
#include <optional>
#include <span>

namespace happe::ui {

// A time in which the busiest CPU ran so.
struct Spent {
    std::uint32_t khz = 0;     // its real speed
    double utilisation = 0.0;  // 0 to 1
    Seconds time{};
    bool operator==(const Spent&) const = default;
};

struct Saving {
    double joules = 0.0;  // below 0: the kernel's governor would have drawn less
    double watts = 0.0;   // the mean with HAPPE

    // How long the saving lasts at that power.
    [[nodiscard]] Seconds time() const { return Seconds(joules / watts); }
};

// The same work under schedutil, the kernel's default governor, while the load stays as it is: the lowest of these
// speeds (ascending, one at least) at or above 1.25 * f_max * util, where util is what the CPU does of what it could do
// at f_max (kernel/sched/cpufreq_schedutil.c, get_next_freq). A CPU that is busy all the time gets the highest, and
// stays busy, as in a game.
[[nodiscard]] Spent under_schedutil(const Spent& spent, std::span<const std::uint32_t> speeds);

// None where no time was spent, or there are no speeds.
[[nodiscard]] std::optional<Saving> saving_of(std::span<const Spent> spent, std::span<const std::uint32_t> speeds,
                                              const PowerModel& model);

}  // namespace happe::ui
