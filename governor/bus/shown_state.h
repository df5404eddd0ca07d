// SPDX-License-Identifier: GPL-2.0-or-later
// The state of its work that happed shows, in types that do not depend on the bus.
#pragma once

#include "governor/core/uafp.h"

#include <cstdint>
#include <string>
#include <vector>

namespace happe {

// A policy's last period.
struct SampledPolicy {
    PolicyId policy;
    Khz current;
    Ppm utilisation;
    Level level;
    bool operator==(const SampledPolicy&) const = default;
};

// The present probe of mode `extended`, or the wait for the next.
struct ShownDescent {
    std::string state;  // "probing": HAPPE tries less now; "waiting": it will; "unattended": it would, but does not
                        // know that somebody is there; empty: none of these
    Khz restored{0};    // while probing: a press of "faster" restores at least this, in kHz of the fastest ladder
    std::uint32_t seconds = 0;  // quiet seconds until HAPPE accepts the probe or begins the next
    bool operator==(const ShownDescent&) const = default;
};

// How long the busiest CPU ran at this speed and utilisation.
struct SpentTime {
    Khz speed;                 // the real speed, in steps of 100 MHz
    std::uint8_t percent = 0;  // utilisation
    std::uint32_t milliseconds = 0;
    bool operator==(const SpentTime&) const = default;
};

// A user's day with HAPPE: since midnight, or since happed first served this user today.
struct TimeSpent {
    std::int64_t since_us = 0;  // microseconds since 1970
    std::vector<SpentTime> spent;
};

}  // namespace happe
