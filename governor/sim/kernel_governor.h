// SPDX-License-Identifier: GPL-2.0-or-later
// Governors for comparison with HAPPE: models of the kernel's, limits, and feedback without learning.
#pragma once

#include "governor/core/ladder.h"
#include "governor/core/press_series.h"

#include <algorithm>
#include <optional>

namespace happe::sim {

class KernelGovernor {
public:
    // The time between calls of next(); 0: at every step of the simulation.
    [[nodiscard]] virtual Micros sampling_period() const = 0;

    // The next frequency, from the busiest CPU's load over the period that ends now.
    [[nodiscard]] virtual Khz next(const Ladder& ladder, Khz current, Ppm load) = 0;

    // The application's thread has moved here from another policy.
    virtual void arrive(const KernelGovernor& /*from*/) {}

    virtual ~KernelGovernor() = default;
};

// ondemand. A load above up_threshold goes to the highest frequency. Otherwise:
//
// Linux2_6_22 (the paper's kernel; drivers/cpufreq/cpufreq_ondemand.c of 2.6.22 to 3.8): a load that is also below
// up_threshold - 10 goes to the lowest frequency that would keep it there, current * load / (up_threshold - 10): "the
// optimal frequency is the lowest that can support the current CPU usage without triggering the up policy". In between
// it stays.
//
// Linux3_9 (commit dfa5bb622555 and Documentation/admin-guide/pm/cpufreq.rst, "proportional to the estimated load"):
// min + load * (max - min), or the lowest frequency above that.
class Ondemand : public KernelGovernor {
public:
    enum class Rule : std::uint8_t { Linux2_6_22, Linux3_9 };

    explicit Ondemand(Rule rule = Rule::Linux2_6_22) : rule_(rule) {}
    [[nodiscard]] Micros sampling_period() const override { return kSamplingRate; }
    [[nodiscard]] Khz next(const Ladder& ladder, Khz current, Ppm load) override;

private:
    static constexpr Micros kSamplingRate{80'000};  // section A.5.1.3
    static constexpr Ppm kUpThreshold{800'000};
    static constexpr Ppm kDownThreshold{700'000};
    Rule rule_;
};

// conservative: a load above 80 % asks for 5 % of the highest frequency more, below 20 % for 5 % less (the defaults of
// Documentation/admin-guide/pm/cpufreq.rst). It keeps its request between samples.
class Conservative : public KernelGovernor {
public:
    [[nodiscard]] Micros sampling_period() const override { return Micros{80'000}; }
    [[nodiscard]] Khz next(const Ladder& ladder, Khz current, Ppm load) override;

private:
    Khz requested_{0};
};

// schedutil (kernel/sched/cpufreq_schedutil.c, Documentation/scheduler/schedutil.rst): 1.25 * f_max * util, where util
// is the share of f_max that the CPU used, averaged with a half-life of 32 ms. A CPU that is always busy counts as
// wanting all of it, but its clock runs slower by f / f_max.
class Schedutil : public KernelGovernor {
public:
    [[nodiscard]] Micros sampling_period() const override { return kPeriod; }
    [[nodiscard]] Khz next(const Ladder& ladder, Khz current, Ppm load) override;
    void arrive(const KernelGovernor& from) override;  // the thread's average moves with it

private:
    static constexpr Micros kPeriod{40'000};
    static constexpr Micros kHalfLife{32'000};
    double util_ = 0.0;
    bool arrived_ = false;
};

// performance, powersave and userspace: one frequency for every load.
class Fixed : public KernelGovernor {
public:
    explicit Fixed(Khz khz) : khz_(khz) {}
    [[nodiscard]] Micros sampling_period() const override { return Micros{0}; }
    [[nodiscard]] Khz next(const Ladder& /*ladder*/, Khz /*current*/, Ppm /*load*/) override { return khz_; }

private:
    Khz khz_;
};

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

// schedutil under a limit that somebody sets who knows the person.
class KnownCap : public Schedutil {
public:
    explicit KnownCap(Khz cap) : cap_(cap) {}
    [[nodiscard]] Khz next(const Ladder& ladder, Khz current, Ppm load) override {
        return std::min(cap_, Schedutil::next(ladder, current, load));
    }
    void limit(Khz cap) { cap_ = cap; }

private:
    Khz cap_;
};

}  // namespace happe::sim
