// SPDX-License-Identifier: GPL-2.0-or-later
// The overlay's picture, the same on X11 and Wayland. Nothing in it moves, so there is no motion to be reduced.
#pragma once

#include "ui/overlay/overlay_state.h"

#include <QColor>
#include <QImage>

namespace happe::ui {

// What the picture is to suit.
struct Look {
    double scale = 1.0;  // pixels for each of 96 in an inch
    bool dark = true;
    bool opaque = false;  // nothing behind shines through
    bool icon = false;    // a square of 64, the time and the ladder alone
    bool operator==(const Look&) const = default;
};

// Each text colour on the plate has a contrast of 4.5:1 at least, whatever is behind (WCAG 2.2, 1.4.3).
struct Colours {
    QColor plate;
    QColor text;
    QColor gain;
    QColor loss;
};
[[nodiscard]] Colours colours(const Look& look);

// Premultiplied ARGB, as large as it needs to be.
[[nodiscard]] QImage paint(const Shown& shown, const Look& look);

}  // namespace happe::ui
