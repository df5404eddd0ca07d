// SPDX-License-Identifier: GPL-2.0-or-later
// The power over the last minutes, in a few numbers, however often it changes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace happe::ui {

// A time of a clock that never goes back.
using Moment = std::chrono::duration<double>;

class PowerHistory {
public:
    static constexpr std::chrono::seconds kSlot{30};  // each starts at a multiple of it
    static constexpr std::size_t kSlots = 20;
    static constexpr std::chrono::minutes kSpan{10};
    static_assert(kSlots * kSlot == kSpan);

    // Sets the power from now on; none: unknown.
    void becomes(std::optional<double> watts, Moment now);
    void forget() { *this = {}; }

    // The mean power of each slot, oldest first; none: unknown in all of the slot. The last one is the present power,
    // so that a change shows at once.
    [[nodiscard]] std::vector<std::optional<double>> steps(Moment now) const;
    // When the steps move on although the power stays.
    [[nodiscard]] static Moment next_step(Moment now);

private:
    struct Slot {
        double joules = 0.0;
        double seconds = 0.0;  // with a known power
    };

    void add_until(Moment now);

    std::map<std::int64_t, Slot> slots_;  // by the number of slots since the clock began; at most kSlots
    std::optional<double> watts_;
    Moment since_{};
};

}  // namespace happe::ui
