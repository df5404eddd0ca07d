// SPDX-License-Identifier: GPL-2.0-or-later
// Other governors for comparison with HAPPE: feedback without learning, limits, and the best possible governor.
#pragma once

#include "governor/sim/kernel_governor.h"
#include "governor/sim/participant.h"

#include <algorithm>

namespace happe::sim {

// Continuous feedback, after the user-driven frequency scaling of Mallik et al. (the paper's [94]): the frequency steps
// down after a wait. A press of the performance key steps it up and lengthens the wait; a press of the power key steps
// it down at once. It remembers neither applications nor levels. The lengths are ours.
class Udfs : public KernelGovernor {
public:
    [[nodiscard]] Micros sampling_period() const override { return Micros{0}; }
    [[nodiscard]] Khz next(const Ladder& ladder, Khz current, Ppm load) override;
    void pressed(Key key) { pressed_ = key; }
    void pass(Micros time) { waited_ += time; }

private:
    static constexpr double kLonger = 1.5;
    Micros patience_ = std::chrono::seconds{10};
    Micros waited_{0};
    std::optional<Key> pressed_;
};

// Today's ondemand under a limit (scaling_max_freq). A learned limit is one number for each application: it starts at
// the lowest frequency, and each key moves it by a step.
class Capped : public KernelGovernor {
public:
    explicit Capped(Khz cap) : cap_(cap) {}
    [[nodiscard]] Micros sampling_period() const override { return ondemand_.sampling_period(); }
    [[nodiscard]] Khz next(const Ladder& ladder, Khz current, Ppm load) override {
        return std::min(cap_, ondemand_.next(ladder, current, load));
    }
    void limit(Khz cap) { cap_ = cap; }

private:
    Ondemand ondemand_{Ondemand::Rule::Linux3_9};
    Khz cap_;
};

// Always the lowest frequency that satisfies this participant now. It knows the demand, unlike any real governor.
class Oracle : public KernelGovernor {
public:
    explicit Oracle(const Taste& taste) : taste_(taste) {}
    [[nodiscard]] Micros sampling_period() const override { return Micros{0}; }
    [[nodiscard]] Khz next(const Ladder& ladder, Khz /*current*/, Ppm /*load*/) override {
        return taste_.satisfying(ladder, demand_khz_);
    }
    void tell(double demand_khz) { demand_khz_ = demand_khz; }
    void feel(const Taste& taste) { taste_ = taste; }

private:
    Taste taste_;
    double demand_khz_ = 0.0;
};

}  // namespace happe::sim
