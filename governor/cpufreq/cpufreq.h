// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's cpufreq interface, in its own terms: Documentation/admin-guide/pm/cpufreq.rst, "Policy Interface in
// sysfs".
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace happe {

// What a policy is, as its driver says.
struct CpufreqPolicy {
    PolicyId id;
    std::vector<unsigned> cpus;          // related_cpus: those that scale together, on line or not, ascending
    std::string driver;                  // scaling_driver
    std::vector<std::string> governors;  // scaling_available_governors
    std::vector<Khz> frequencies;        // scaling_available_ and scaling_boost_frequencies, ascending; none: no table
    Khz lowest;                          // cpuinfo_min_freq
    Khz highest;                         // cpuinfo_max_freq
    std::optional<Khz> bios_limit;       // what the firmware allows just now, if the driver says
};

// What is set on a policy.
struct CpufreqSettings {
    std::string governor;      // scaling_governor
    Khz min;                   // scaling_min_freq
    Khz max;                   // scaling_max_freq
    std::optional<Khz> speed;  // scaling_setspeed, which only the governor userspace has
    bool operator==(const CpufreqSettings&) const = default;
};

// A governor's tunables that can be written: file name and value.
using Tunables = std::map<std::string, std::string>;

class Cpufreq {
public:
    enum class Frequency : std::uint8_t {
        Current,  // scaling_cur_freq: may be what the hardware measured, between the table's entries
        Speed,    // scaling_setspeed: what the driver was last asked for, within all limits
        Min,      // scaling_min_freq
        Max,      // scaling_max_freq: the lowest of what was written here and what the kernel limits
    };

    // Those with a CPU on line, ascending ids. None on a machine without cpufreq.
    [[nodiscard]] virtual Result<std::vector<CpufreqPolicy>> policies() const = 0;

    // Nothing for a policy all of whose CPUs are off line, or that is gone.
    [[nodiscard]] virtual Result<std::optional<CpufreqSettings>> settings(PolicyId policy) const = 0;

    // Cheap enough for every sample. Nothing if there is none now: off line, or the speed under a governor other than
    // userspace.
    [[nodiscard]] virtual Result<std::optional<Khz>> frequency(PolicyId policy, Frequency which) const = 0;

    // Speed or Max. Cheap too. The kernel keeps to its limits and to what the driver can do, which is no error.
    [[nodiscard]] virtual Status set_frequency(PolicyId policy, Frequency which, Khz khz) = 0;

    // The kernel loads the governor's module if there is one.
    [[nodiscard]] virtual Status set_governor(PolicyId policy, const std::string& governor) = 0;

    // Of a governor in force; none if it isn't. Most drivers share them among policies.
    [[nodiscard]] virtual Result<Tunables> tunables(PolicyId policy, const std::string& governor) const = 0;
    [[nodiscard]] virtual Status set_tunable(PolicyId policy, const std::string& governor, const std::string& name,
                                             const std::string& value) = 0;

    virtual ~Cpufreq() = default;
};

}  // namespace happe
