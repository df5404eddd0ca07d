// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/rivals.h"

namespace happe::sim {

Khz Udfs::next(const Ladder& ladder, Khz current, Ppm /*load*/) {
    const std::optional<Key> key = pressed_;
    pressed_.reset();
    if (key == Key::Performance) {
        patience_ = std::chrono::duration_cast<Micros>(patience_ * kLonger);
        waited_ = Micros{0};
        return ladder.above(current);
    }
    if (key == Key::Power || waited_ >= patience_) {
        waited_ = Micros{0};
        return ladder.below(current);
    }
    return current;
}

}  // namespace happe::sim
