// SPDX-License-Identifier: GPL-2.0-or-later
// The overlay's picture, the same on X11 and Wayland. Nothing in it moves, so it has no motion to reduce.
#pragma once

#include "ui/overlay/overlay_state.h"

#include <QColor>
#include <QImage>

namespace happe::ui {

// The properties of the place where the picture appears.
struct Look {
    double scale = 1.0;  // pixels in 1/96 inch
    bool dark = true;
    bool opaque = false;  // the background must not shine through
    bool icon = false;    // a square of 64 pixels with only the time and the ladder
    bool operator==(const Look&) const = default;
};

// Each text colour has a contrast of at least 4.5:1 to the plate, on every background (WCAG 2.2, 1.4.3).
struct Colours {
    QColor plate;
    QColor text;
    QColor gain;
    QColor loss;
};
[[nodiscard]] Colours colours(const Look& look);

// Returns premultiplied ARGB in the size that the content needs.
[[nodiscard]] QImage paint(const Shown& shown, const Look& look);

}  // namespace happe::ui
