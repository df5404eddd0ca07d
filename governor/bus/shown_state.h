// SPDX-License-Identifier: GPL-2.0-or-later
// What happed tells of its work, in types without a bus.
#pragma once

#include "governor/core/uafp.h"

#include <cstdint>
#include <string>

namespace happe {

// What a policy did in the last period.
struct SampledPolicy {
    PolicyId policy;
    Khz current;
    Ppm utilisation;
    Level level;
    bool operator==(const SampledPolicy&) const = default;
};

// What mode `extended` tries for the profile in use.
struct ShownDescent {
    std::string state;          // "probing": it tries less now; "waiting": it will; empty: neither
    Khz restored{0};            // probing: what a press of "faster" restores at least, in kHz of the fastest ladder
    std::uint32_t seconds = 0;  // of quiet time until the probe is accepted, or until the next one
    bool operator==(const ShownDescent&) const = default;
};

}  // namespace happe
