// SPDX-License-Identifier: GPL-2.0-or-later
// The study's simulated battery (section A.5.1.2), and the remaining time of any battery at a power.
#pragma once

#include "ui/overlay/power_model.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

namespace happe::ui {

using Seconds = std::chrono::duration<double>;

// How long `joules` last at `watts`, at most kLongest.
inline constexpr Seconds kLongest = std::chrono::hours(99);
[[nodiscard]] Seconds remaining(double joules, double watts);

// How much longer (below 0: shorter) `joules` last at `after` than at `before`, in watts.
[[nodiscard]] Seconds gained(double joules, double before, double after);

// "Designed to last for two hours when the processor is at the lowest frequency": full, it lasts exactly two hours at
// the lowest frequency and full utilisation (docs/decisions.md).
class SimulatedBattery {
public:
    static constexpr Seconds kAtLowest = std::chrono::hours(2);

    explicit SimulatedBattery(const PowerModel& model) : full_(model.lowest_busy_watts() * kAtLowest.count()) {}

    [[nodiscard]] double joules() const { return joules_; }
    [[nodiscard]] double full() const { return full_; }
    // Removes the energy that `watts` use in `time`. An empty battery stays empty.
    void draw(double watts, Seconds time);
    void refill() { joules_ = full_; }

private:
    double full_;
    double joules_ = full_;
};

// HAPPE's saving compared with the kernel's governor, by a power model: docs/indicator.md, "Today's saving".

// A time in which the busiest CPU ran at this speed and utilisation.
struct Spent {
    std::uint32_t khz = 0;     // the real speed
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

// The same work under schedutil, the kernel's default governor, at a steady load. It runs at the lowest of these speeds
// (ascending, at least one) at or above 1.25 * f_max * util, where util is the CPU's work as a share of its work at
// f_max (kernel/sched/cpufreq_schedutil.c, get_next_freq). A CPU that is always busy gets the highest speed and stays
// busy, as in a game.
[[nodiscard]] Spent under_schedutil(const Spent& spent, std::span<const std::uint32_t> speeds);

// None if there is no time or no speed.
[[nodiscard]] std::optional<Saving> saving_of(std::span<const Spent> spent, std::span<const std::uint32_t> speeds,
                                              const PowerModel& model);

}  // namespace happe::ui
