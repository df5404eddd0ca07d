// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/battery_model.h"

#include <algorithm>

namespace happe::ui {

Seconds remaining(double joules, double watts) {
    return watts > 0.0 ? std::clamp(Seconds(joules / watts), Seconds::zero(), kLongest) : kLongest;
}

Seconds gained(double joules, double before, double after) {
    return remaining(joules, after) - remaining(joules, before);
}

void SimulatedBattery::draw(double watts, Seconds time) {
    joules_ = std::max(0.0, joules_ - std::max(0.0, watts) * std::max(0.0, time.count()));
}

}  // namespace happe::ui
