// SPDX-License-Identifier: GPL-2.0-or-later
// Derives a policy's ladder and back-end from its driver's description: docs/daemon.md, "Back-ends".
#pragma once

#include "governor/core/ladder.h"
#include "governor/cpufreq/cpufreq.h"

#include <map>
#include <span>

namespace happe {

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
