// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/units.h"

#include <algorithm>

namespace happe {

// Limits programs' presses over the bus to a person's rate, so that no program keeps happed busy.
class PressAllowance {
public:
    static constexpr int kMostAtOnce = 10;
    static constexpr Micros kEach = std::chrono::milliseconds{100};  // after these, one press in this time

    // True if a press may count now; it then uses up a place.
    [[nodiscard]] bool take(MonoTime now) {
        const MonoTime used = std::max(used_until_, now);
        if (used - now > (kMostAtOnce - 1) * kEach) {
            return false;
        }
        used_until_ = used + kEach;
        return true;
    }

private:
    MonoTime used_until_;
};

}  // namespace happe
