// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace happe {

// SplitMix64: moves the state on, and returns its next value (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014).
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

}  // namespace happe
