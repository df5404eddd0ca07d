// SPDX-License-Identifier: GPL-2.0-or-later
// Which surface a session can have.
#pragma once

#include "ui/indicator/options.h"
#include "ui/surfaces/surface.h"

namespace happe::ui {

// How to open the surface that the options ask for. In a Wayland session without wlr-layer-shell it is the best of
// GNOME's extension, a window of XWayland and the tray's icon that can be opened at the time; `tell` gets its name
// and the reason.
[[nodiscard]] OpenSurface surface_for(const Options& options, const QDBusConnection& session_bus,
                                      std::function<void(const std::string&)> tell);

}  // namespace happe::ui
