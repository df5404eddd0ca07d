// SPDX-License-Identifier: GPL-2.0-or-later
// A simulated laptop: one policy of two CPUs that do work at the policy's frequency and draw the power of Table A.2.
#pragma once

#include "governor/core/frequency_control.h"
#include "governor/core/utilisation_source.h"
#include "governor/sim/kernel_governor.h"

#include <array>

namespace happe::sim {

inline constexpr std::size_t kCpus = 2;
using Demand = std::array<double, kCpus>;  // work wanted of each CPU, in kHz: cycles per millisecond

class Machine : public UtilisationSource, public FrequencyControl {
public:
    // `found`: the kernel's governor, which rules until acquire() and after release(). `other_watts`: what the rest of
    // the system draws more than in Table A.2.
    Machine(const Ladder& ladder, KernelGovernor& found, double other_watts);

    // Time passes with this demand. A demand above the frequency is cut off: games drop frames, they don't queue them.
    void run(Micros time, const Demand& demand);

    [[nodiscard]] Khz khz() const { return khz_; }
    [[nodiscard]] const Ladder& ladder() const { return policies_.front().ladder; }
    [[nodiscard]] double watts() const { return watts_; }                      // during the last run()
    [[nodiscard]] double utilisation() const { return utilisation_.front(); }  // CPU 0's during the last run(), 0 to 1
    [[nodiscard]] double mean_watts() const { return joules_ / seconds_; }
    [[nodiscard]] double mean_utilisation() const { return busy_seconds_ / seconds_; }

    Result<std::span<const std::optional<Ppm>>> sample() override;
    [[nodiscard]] std::span<const Policy> policies() const override { return policies_; }
    [[nodiscard]] std::optional<Khz> current(PolicyId /*policy*/) const override { return khz_; }
    Status acquire() override;
    Status set(PolicyId policy, Khz khz) override;
    Status release() override;

private:
    // Busy time since somebody last looked: the loop each period, the kernel's governor each sampling period.
    struct Meter {
        std::array<double, kCpus> busy{};
        double seconds = 0.0;

        [[nodiscard]] Ppm share(std::size_t cpu) const;
    };

    void govern();

    std::vector<Policy> policies_;
    KernelGovernor& found_;
    double other_watts_;
    Khz khz_;
    bool acquired_ = false;
    Micros governor_waits_{0};
    Meter loop_meter_;
    Meter governor_meter_;
    std::array<std::optional<Ppm>, kCpus> sampled_;
    std::array<double, kCpus> utilisation_{};
    double watts_ = 0.0;
    double joules_ = 0.0;
    double busy_seconds_ = 0.0;
    double seconds_ = 0.0;
};

}  // namespace happe::sim
