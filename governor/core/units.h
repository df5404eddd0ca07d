// SPDX-License-Identifier: GPL-2.0-or-later
// The units of the governor. All are integers, so every comparison is exact and a trace replays to the bit.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace happe {

// A frequency in kHz, the unit of the kernel's cpufreq interface (Documentation/admin-guide/pm/cpufreq.rst).
struct Khz {
    std::uint32_t value = 0;
    auto operator<=>(const Khz&) const = default;
};

inline constexpr Khz kHighestKhz{20'000'000};  // the highest frequency on a ladder, so that products fit into 64 bits

// A share of one in parts per million: utilisation is 0 (idle) to 1,000,000 (busy all the time).
struct Ppm {
    std::uint32_t value = 0;
    auto operator<=>(const Ppm&) const = default;
};

inline constexpr Ppm kOne{1'000'000};

inline constexpr Ppm kMostWork{4'096 * kOne.value};  // of many CPUs

// The number of a cpufreq policy: CPUs that share a frequency.
struct PolicyId {
    std::uint16_t value = 0;
    auto operator<=>(const PolicyId&) const = default;
};

inline constexpr PolicyId kHighestPolicyId{1023};

// Monotonic time. This clock has no now(): except in the main programs, time is always an argument.
using Micros = std::chrono::microseconds;
struct MonoClock {
    using rep = Micros::rep;
    using period = Micros::period;
    using duration = Micros;
    using time_point = std::chrono::time_point<MonoClock, Micros>;
    static constexpr bool is_steady = true;
};
using MonoTime = MonoClock::time_point;

// The two keys of HAPPE (section A.4): "faster" and "save power".
enum class Key : std::uint8_t { Performance, Power };

// The names in the contract's documents and on the bus.
constexpr const char* name_of(Key key) {
    return key == Key::Performance ? "performance" : "power";
}

}  // namespace happe
