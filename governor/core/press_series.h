// SPDX-License-Identifier: GPL-2.0-or-later
// Series of presses. "We treat all series of key presses with intervals smaller than one second as a single key press."
// (section A.4)
#pragma once

#include "governor/core/units.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace happe {

struct Press {
    Key key = Key::Performance;
    MonoTime at;
};

// The two keys.
class KeySource {
public:
    // Appends the presses since the last call, in order of time.
    virtual void take(std::vector<Press>& presses) = 0;

    virtual ~KeySource() = default;
};

class PressSeries {
public:
    static constexpr Micros kGap = std::chrono::seconds{1};

    // Takes the presses of one period, in order of time for each key. Returns the key that counts: the key whose series
    // began in this period. If both did, performance counts, because Algorithm 3 checks it first.
    std::optional<Key> counted(std::span<const Press> presses) {
        std::optional<Key> counts;
        for (const Press& press : presses) {
            if (begins_series(press) && counts != Key::Performance) {
                counts = press.key;
            }
        }
        return counts;
    }

private:
    bool begins_series(const Press& press) {
        std::optional<MonoTime>& last = last_.at(static_cast<std::size_t>(press.key));
        const bool begins = !last || press.at - *last >= kGap;
        last = press.at;
        return begins;
    }

    std::array<std::optional<MonoTime>, 2> last_;  // of each key
};

}  // namespace happe
