// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's cpufreq interface, in its own terms: Documentation/admin-guide/pm/cpufreq.rst, "Policy Interface in
// sysfs".
#pragma once

#include "governor/core/ladder.h"
#include "governor/core/result.h"
#include "governor/core/units.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace happe {

// The largest number that the kernel accepts for scaling_max_freq, and the one that a policy begins with: no limit. A
// smaller number that equals cpuinfo_max_freq becomes a limit when boost raises that (cpufreq_online() in
// drivers/cpufreq/cpufreq.c, FREQ_QOS_MAX_DEFAULT_VALUE).
inline constexpr Khz kNoLimit{INT32_MAX};

// A policy as its driver describes it. Switching boost can change its frequencies.
struct CpufreqPolicy {
    PolicyId id;
    std::vector<unsigned> cpus;          // related_cpus: CPUs that scale together, on line or not, ascending
    std::string driver;                  // scaling_driver
    std::vector<std::string> governors;  // scaling_available_governors
    std::vector<std::string> epps;       // energy_performance_available_preferences; empty: the driver has no EPP
    std::vector<Khz> frequencies;        // scaling_available_ and scaling_boost_frequencies, ascending; empty: no table
    Khz lowest;                          // cpuinfo_min_freq
    Khz highest;                         // cpuinfo_max_freq, or the top of a table that ends below it
    std::optional<Khz> efficient{};      // amd_pstate_lowest_nonlinear_freq: below it less speed hardly saves power
    std::optional<Khz> bios_limit;       // the firmware's present limit, if the driver reports it
};

// The settings of a policy.
struct CpufreqSettings {
    std::string governor;      // scaling_governor
    Khz min;                   // scaling_min_freq
    Khz max;                   // scaling_max_freq; kNoLimit can be written, and the kernel shows the highest instead
    std::optional<Khz> speed;  // scaling_setspeed, only with the governor userspace
    bool operator==(const CpufreqSettings&) const = default;
};

// A governor's writable tunables: file name and value.
using Tunables = std::map<std::string, std::string>;

class Cpufreq {
public:
    enum class Frequency : std::uint8_t {
        Current,  // scaling_cur_freq: may be the hardware's measurement, between the table's entries
        Average,  // cpuinfo_avg_freq: measured recently by the hardware; Linux 6.15 and later, on some machines
        Speed,    // scaling_setspeed: the last request to the driver, within all limits
        Min,      // scaling_min_freq
        Max,      // scaling_max_freq: the lower one of the last write and the kernel's limit
    };
    static constexpr std::size_t kFrequencies = 5;

    // Policies with a CPU on line, ascending ids. Empty on a machine without cpufreq.
    [[nodiscard]] virtual Result<std::vector<CpufreqPolicy>> policies() const = 0;

    // Empty if the policy is gone, or if all its CPUs are off line.
    [[nodiscard]] virtual Result<std::optional<CpufreqPolicy>> policy(PolicyId policy) const = 0;

    // CpufreqPolicy::frequencies. Empty while the policy is off line.
    [[nodiscard]] virtual std::vector<Khz> table(PolicyId policy) const = 0;

    // Empty if the policy is gone, or if all its CPUs are off line.
    [[nodiscard]] virtual Result<std::optional<CpufreqSettings>> settings(PolicyId policy) const = 0;

    // The driver's name, the range and the table, as text to compare. Empty while the policy is gone. Fast enough to
    // call for every sample.
    [[nodiscard]] virtual Result<std::optional<std::string>> outline(PolicyId policy) const = 0;

    // Fast enough to call for every sample. Empty if there is no value now: the policy is off line, or the caller asks
    // for Speed under another governor than userspace.
    [[nodiscard]] virtual Result<std::optional<Khz>> frequency(PolicyId policy, Frequency which) const = 0;

    // Sets Speed or Max. Fast too. The kernel silently keeps within its limits and the driver's abilities. A new speed
    // is in force when this returns. A new maximum is in force a moment later, because a worker sets it
    // (cpufreq_notifier_max in drivers/cpufreq/cpufreq.c). Until then the file shows the old one.
    [[nodiscard]] virtual Status set_frequency(PolicyId policy, Frequency which, Khz khz) = 0;

    // Waits 20 ms. Usually a written maximum is in force after that.
    virtual void wait_for_maximum() = 0;

    // The kernel loads the governor's module if it exists.
    [[nodiscard]] virtual Status set_governor(PolicyId policy, const std::string& governor) = 0;

    // The energy performance preference: a name, or a number from 0 to 255. Empty if the driver has none, or if the
    // policy is off line.
    [[nodiscard]] virtual Result<std::optional<std::string>> epp(PolicyId policy) const = 0;
    [[nodiscard]] virtual Status set_epp(PolicyId policy, const std::string& epp) = 0;

    // The tunables of the governor in force; empty for another governor. On most drivers all policies share them.
    [[nodiscard]] virtual Result<Tunables> tunables(PolicyId policy, const std::string& governor) const = 0;
    [[nodiscard]] virtual Status set_tunable(PolicyId policy, const std::string& governor, const std::string& name,
                                             const std::string& value) = 0;

    virtual ~Cpufreq() = default;
};

// A policy's ladder and back-end follow from its driver's description: docs/daemon.md, "Back-ends".
enum class Backend : std::uint8_t {
    Setspeed,  // the governor userspace and scaling_setspeed
    Cap,       // scaling_max_freq: the driver chooses a frequency below it
};

// SETSPEED if the governor userspace is available on all policies.
[[nodiscard]] Backend backend_of(std::span<const CpufreqPolicy> policies);

inline constexpr std::size_t kEvenSteps = 10;

// The driver's table, or at most `steps` even steps. `speeds`: the real speeds of listed frequencies that differ from
// the driver's numbers; entries for frequencies that this policy lacks have no effect.
[[nodiscard]] Result<Ladder> make_ladder(const CpufreqPolicy& policy, const std::map<Khz, Khz>& speeds,
                                         std::size_t steps = kEvenSteps);

}  // namespace happe
