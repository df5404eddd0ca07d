// SPDX-License-Identifier: GPL-2.0-or-later
// A simulated laptop: policies of CPUs that do work at their policy's frequency and draw power. One thread, the
// application's, may move between CPUs; another, the desktop's, runs beside it.
#pragma once

#include "governor/core/frequency_control.h"
#include "governor/core/ladder.h"
#include "governor/sim/kernel_governor.h"

#include <array>
#include <vector>

namespace happe::sim {

using Demand = std::array<double, 2>;  // work wanted by each thread, in kHz: cycles per millisecond

// The state of one CPU.
struct Load {
    Khz khz;
    double utilisation = 0.0;  // 0 to 1
};

// The parts of a machine.
struct Hardware {
    std::vector<Policy> policies;                   // ids and CPUs ascending from 0; at least two CPUs
    double (*watts)(std::span<const Load> by_cpu);  // the power of the whole system
    Micros moves_every{0};                          // how long a thread stays on its CPU; 0: it never moves
};

Hardware t61_hardware();

class Machine : public UtilisationSource, public FrequencyControl {
public:
    // `found`: each policy's kernel governor, which rules until acquire() and after release(). `other_watts`: what the
    // system draws beside `hardware.watts`.
    Machine(Hardware hardware, std::vector<KernelGovernor*> found, double other_watts);

    // Lets time pass with this demand. Cuts off demand above the frequency: games drop frames, they do not queue them.
    void run(Micros time, const Demand& demand);

    // These describe the CPU that runs the application's thread.
    [[nodiscard]] Khz khz() const { return khz_[here()]; }
    [[nodiscard]] std::size_t here() const { return policy_of_[cpu_]; }            // index of its policy
    [[nodiscard]] double utilisation() const { return loads_[cpu_].utilisation; }  // in the last run(), 0 to 1
    [[nodiscard]] const Ladder& ladder() const { return hardware_.policies.front().ladder; }
    [[nodiscard]] double watts() const { return watts_; }  // during the last run()
    [[nodiscard]] double mean_watts() const { return joules_ / seconds_; }
    [[nodiscard]] double mean_utilisation() const { return busy_seconds_ / seconds_; }

    Result<std::span<const std::optional<Ppm>>> sample() override;
    [[nodiscard]] std::span<const Policy> policies() const override { return hardware_.policies; }
    [[nodiscard]] std::optional<Khz> current(PolicyId policy) const override { return khz_.at(policy.value); }
    Status acquire() override;
    Status set(PolicyId policy, Khz khz) override;
    Status release() override;

private:
    // Busy time of each CPU since the last reset. The loop and the kernel's governor have one meter each.
    struct Meter {
        std::vector<double> busy;
        double seconds = 0.0;

        [[nodiscard]] Ppm share(std::size_t cpu) const;
        void reset();
    };

    void govern();
    void move(Micros time);

    Hardware hardware_;
    std::vector<KernelGovernor*> found_;
    double other_watts_;
    std::vector<std::size_t> policy_of_;  // by CPU: the index of its policy
    std::vector<Khz> khz_;                // by index of policy
    std::size_t cpu_ = 0;                 // the CPU of the application's thread; the desktop's runs on the next
    Micros stayed_{0};
    bool acquired_ = false;
    Micros governor_waits_{0};
    Meter loop_meter_;
    Meter governor_meter_;
    std::vector<std::optional<Ppm>> sampled_;
    std::vector<Load> loads_;
    double watts_ = 0.0;
    double joules_ = 0.0;
    double busy_seconds_ = 0.0;
    double seconds_ = 0.0;
};

// The whole-system power of the paper's ThinkPad T61: Table A.2, bilinear in utilisation and frequency.

// Watts with CPU 0 at this frequency and utilisation (0 to 1), a 3D screen saver running as in Table A.2. Frequencies
// outside the ladder count as its ends.
double t61_watts(Khz khz, double utilisation);

}  // namespace happe::sim
