// SPDX-License-Identifier: GPL-2.0-or-later
// The study's simulated battery (section A.5.1.2), and the remaining time of any battery at a power.
#pragma once

#include "ui/overlay/power_model.h"

#include <chrono>

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

}  // namespace happe::ui
