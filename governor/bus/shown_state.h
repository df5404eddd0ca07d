// SPDX-License-Identifier: GPL-2.0-or-later
// What happed tells of its work, in types without a bus.
#pragma once

#include "governor/core/uafp.h"

#include <cstdint>
#include <string>
#include <vector>

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

// How long the busiest CPU ran at a speed while it was so busy.
struct SpentTime {
    Khz speed;                 // its real one, in steps of 100 MHz
    std::uint8_t percent = 0;  // of the time
    std::uint32_t milliseconds = 0;
    bool operator==(const SpentTime&) const = default;
};

// What a user has had of HAPPE since midnight, or since happed first served this user today.
struct TimeSpent {
    std::int64_t since_us = 0;  // since 1970
    std::vector<SpentTime> spent;
};

}  // namespace happe
