// SPDX-License-Identifier: GPL-2.0-or-later
// The user-application frequency profile (UAFP): for each tenth of normalised utilisation the lowest frequency that
// satisfies this user of this application. Section A.4 of the paper.
#pragma once

#include "governor/core/units.h"

#include <array>
#include <optional>
#include <span>

namespace happe {

// A tenth of normalised utilisation, 0 to 9; 100 % belongs to level 9.
struct Level {
    std::uint8_t value = 0;
    auto operator<=>(const Level&) const = default;
};

// Normalised utilisation, util * f / f_max, kept as an exact fraction.
struct NormalisedUtilisation {
    std::uint64_t work = 0;  // ppm times kHz
    Khz f_max{1};

    [[nodiscard]] Level level() const;        // min(9, tenth)
    [[nodiscard]] std::uint64_t ppm() const;  // rounded down; above 1,000,000 if the policy runs faster than f_max
    bool operator<(const NormalisedUtilisation& other) const;  // exact
};

class Uafp {
public:
    static constexpr std::size_t kLevels = 10;
    using Values = std::array<Khz, kLevels>;

    // The lowest frequency at all ten levels: a profile before any lesson.
    explicit Uafp(Khz lowest) { khz_.fill(lowest); }

    // Ten values from level 0 to level 9. Returns nothing if one is 0, above 20,000,000, or lower than the one before
    // it.
    static std::optional<Uafp> from(const Values& khz);

    // Algorithm 4. Sets the level's frequency, raises lower entries at higher levels, and lowers higher entries at
    // lower levels. So a higher utilisation never gets a lower frequency.
    void learn(Level level, Khz khz);

    [[nodiscard]] Khz at(Level level) const { return khz_.at(level.value); }
    [[nodiscard]] const Values& values() const { return khz_; }
    bool operator==(const Uafp&) const = default;

private:
    explicit Uafp(const Values& khz) : khz_(khz) {}

    Values khz_{};
};

// At each level, the lower median of one or more profiles. It never descends, because none of them does. For a warm
// start.
Uafp lower_median(std::span<const Uafp> profiles);

}  // namespace happe
