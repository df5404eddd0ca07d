// SPDX-License-Identifier: GPL-2.0-or-later
// Which surface a session can have.
#pragma once

#include "ui/indicator/options.h"
#include "ui/surfaces/surface.h"

namespace happe::ui {

// How to open the surface that the options ask for. In a session that has both window systems it is Wayland's; where
// its compositor lacks what an overlay needs, the tray takes its place, and `tell` receives the reason and the
// alternatives.
[[nodiscard]] OpenSurface surface_for(const Options& options, std::function<void(const std::string&)> tell);

}  // namespace happe::ui
