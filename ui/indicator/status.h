// SPDX-License-Identifier: GPL-2.0-or-later
// Prints what the overlay would show now: for scripts, and for people who cannot see it.
#pragma once

#include "ui/indicator/options.h"

#include <QDBusConnection>

namespace happe::ui {

// Asks once and prints the answer. Returns the exit status.
[[nodiscard]] int print_status(OverlayState state, const Overlay::Buses& buses, const Options& options);

}  // namespace happe::ui
