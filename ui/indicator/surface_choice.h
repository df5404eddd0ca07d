// SPDX-License-Identifier: GPL-2.0-or-later
// Chooses the surface of a session.
#pragma once

#include "ui/indicator/options.h"
#include "ui/surfaces/surface.h"

namespace happe::ui {

// Returns a function that opens the surface for these options. In a Wayland session without wlr-layer-shell, it opens
// the first one that works: GNOME's extension, a window of XWayland, or the tray's icon. `tell` gets its name and the
// reason.
[[nodiscard]] OpenSurface surface_for(const Options& options, const QDBusConnection& session_bus,
                                      std::function<void(const std::string&)> tell);

}  // namespace happe::ui
