// SPDX-License-Identifier: GPL-2.0-or-later
// A policy's ladder and back-end, from what its driver says of it: docs/daemon.md, "Back-ends".
#pragma once

#include "governor/core/ladder.h"
#include "governor/cpufreq/cpufreq.h"

#include <map>
#include <span>

namespace happe {

enum class Backend : std::uint8_t {
    Setspeed,  // the governor userspace and scaling_setspeed
    Cap,       // scaling_max_freq, below which the driver chooses
};

// SETSPEED if all policies can have the governor userspace.
[[nodiscard]] Backend backend_of(std::span<const CpufreqPolicy> policies);

inline constexpr std::size_t kEvenSteps = 10;  // most entries of a ladder that is made

// The driver's table, else even steps. `speeds`: the real speeds of listed frequencies, where the driver's name for
// them differs; those that aren't this policy's do nothing.
[[nodiscard]] Result<Ladder> make_ladder(const CpufreqPolicy& policy, const std::map<Khz, Khz>& speeds);

}  // namespace happe
