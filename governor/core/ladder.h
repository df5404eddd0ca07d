// SPDX-License-Identifier: GPL-2.0-or-later
// A policy's available frequencies, ascending.
#pragma once

#include "governor/core/units.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace happe {

class Ladder {
public:
    static constexpr std::size_t kMaxSteps = 64;

    // `khz`: 1 to 64 frequencies, strictly ascending, 1 to 20,000,000 kHz. `speed_khz`: the real speed of each, if it
    // differs from the driver's number (acpi-cpufreq lists turbo as nominal + 1 MHz); empty if all are equal. Returns
    // nothing if either list breaks these rules.
    static std::optional<Ladder> from(std::span<const Khz> khz, std::span<const Khz> speed_khz = {});

    [[nodiscard]] Khz lowest() const { return steps_.front().khz; }
    [[nodiscard]] Khz top() const { return steps_.back().khz; }
    [[nodiscard]] Khz f_max() const { return steps_.back().speed; }  // the real top speed, the paper's f_max

    // One step up or down from any frequency, listed or not. Stays at the ends of the ladder.
    [[nodiscard]] Khz above(Khz khz) const;
    [[nodiscard]] Khz below(Khz khz) const;

    // The lowest frequency f with f * scale >= khz * top(), or the top. `scale` is the top of the ladder in whose kHz
    // the UAFP is.
    [[nodiscard]] Khz at_or_above(Khz khz, Khz scale) const;

    // The real speed of a listed frequency. For any other frequency, the frequency itself.
    [[nodiscard]] Khz speed(Khz khz) const;

    [[nodiscard]] std::size_t size() const { return steps_.size(); }
    [[nodiscard]] Khz operator[](std::size_t index) const { return steps_[index].khz; }
    [[nodiscard]] std::vector<Khz> khz() const;  // all of them
    bool operator==(const Ladder&) const = default;

private:
    struct Step {
        Khz khz;
        Khz speed;
        bool operator==(const Step&) const = default;
    };
    explicit Ladder(std::vector<Step> steps) : steps_(std::move(steps)) {}

    std::vector<Step> steps_;
};

// The P-states of the paper's ThinkPad T61 (section A.3), and their ladder.
inline constexpr std::array kT61Khz{Khz{800'000}, Khz{1'200'000}, Khz{1'600'000}, Khz{2'200'000}, Khz{2'300'000}};
const Ladder& t61_ladder();

}  // namespace happe
