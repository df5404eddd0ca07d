// SPDX-License-Identifier: GPL-2.0-or-later
// Random numbers that are the same on every machine and with every standard library (whose distributions differ).
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <string_view>

namespace happe::sim {

// SplitMix64: moves the state on, and returns its next value (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014).
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

// A name as a label of a random stream (FNV-1a, 64 bits).
constexpr std::uint64_t label(std::string_view name) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char byte : name) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
    }
    return hash;
}

class Random {
public:
    // Each list of labels has a separate stream, so that the draws for one run do not depend on other runs.
    Random(std::initializer_list<std::uint64_t> labels) {
        for (const std::uint64_t label : labels) {
            state_ = bits() ^ label;
        }
    }

    std::uint64_t bits() { return splitmix64(state_); }

    // In [0, 1).
    double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }

    // Standard normal: Box and Muller, which gives two at a time.
    double normal() {
        if (has_spare_) {
            has_spare_ = false;
            return spare_;
        }
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        const double angle = 2.0 * std::numbers::pi * uniform();
        spare_ = radius * std::sin(angle);
        has_spare_ = true;
        return radius * std::cos(angle);
    }

    // True with the probability that an event of this rate (1/s) happens within these seconds.
    bool happens(double rate, double seconds) { return rate > 0.0 && uniform() < 1.0 - std::exp(-rate * seconds); }

private:
    std::uint64_t state_ = 0;
    double spare_ = 0.0;
    bool has_spare_ = false;
};

}  // namespace happe::sim
