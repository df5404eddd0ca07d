// SPDX-License-Identifier: GPL-2.0-or-later
// The overlay's texts: short for the picture, whole sentences for people who hear it.
#pragma once

#include "ui/overlay/overlay_state.h"

#include <QString>

namespace happe::ui {

// "1 hour", "2 hours"
[[nodiscard]] QString counted(int number, const QString& one, const QString& more);

class OverlayWords {
public:
    // "1 h 47 min"; without a time "On battery" or "On mains".
    [[nodiscard]] static QString time(const Shown& shown);
    // "1:47", for little room; "–" without a time.
    [[nodiscard]] static QString clock(const Shown& shown);
    // "step 2 of 5"; with details "step 2 of 5 · 1.2 GHz".
    [[nodiscard]] static QString step(const Shown& shown);
    // The graph's title: "12 W measured · 10 min", or "12 W modelled · 10 min".
    [[nodiscard]] static QString power(const Power& power);
    // The graph's scale: "15 W".
    [[nodiscard]] static QString watts(int watts);
    // "+18 min"; "slower" if the time is unknown; "lowest" at the ladder's end; empty without a key.
    [[nodiscard]] static QString effect(const Shown& shown);

    // Accessible name: "1 hour 47 minutes of battery left".
    [[nodiscard]] static QString name(const Shown& shown);
    // Accessible description: "Step 2 of 5. Last key: 18 minutes more. Battery at 82 %."
    [[nodiscard]] static QString description(const Shown& shown);

private:
    [[nodiscard]] static QString spoken(std::chrono::minutes time);
    [[nodiscard]] static QString spoken_effect(const Effect& effect);
    [[nodiscard]] static QString spoken_power(const Power& power);
};

}  // namespace happe::ui
