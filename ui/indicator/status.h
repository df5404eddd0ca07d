// SPDX-License-Identifier: GPL-2.0-or-later
// What the overlay would show now, printed: for scripts, and for people who cannot see it.
#pragma once

#include "ui/indicator/options.h"

#include <QDBusConnection>

namespace happe::ui {

// Asks once and prints; an exit status.
[[nodiscard]] int print_status(OverlayState state, const Overlay::Buses& buses, const Options& options);

}  // namespace happe::ui
