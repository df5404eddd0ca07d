// SPDX-License-Identifier: GPL-2.0-or-later
// What HAPPE is compared with beside the kernel's governors: feedback without learning, and the best there could be.
#pragma once

#include "governor/sim/kernel_governor.h"
#include "governor/sim/participant.h"

namespace happe::sim {

// Continuous feedback, after the user-driven frequency scaling of Mallik et al. (the paper's [94]): the frequency steps
// down after a while; a press of the performance key steps it up and lengthens the while, one of the power key steps it
// down at once. Nothing is remembered of an application or a level. The lengths are ours.
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

// Always the lowest frequency that satisfies this participant now. It is told the demand, which no governor knows.
class Oracle : public KernelGovernor {
public:
    explicit Oracle(const Taste& taste) : taste_(taste) {}
    [[nodiscard]] Micros sampling_period() const override { return Micros{0}; }
    [[nodiscard]] Khz next(const Ladder& ladder, Khz /*current*/, Ppm /*load*/) override {
        return taste_.satisfying(ladder, demand_khz_);
    }
    void tell(double demand_khz) { demand_khz_ = demand_khz; }

private:
    Taste taste_;
    double demand_khz_ = 0.0;
};

}  // namespace happe::sim
