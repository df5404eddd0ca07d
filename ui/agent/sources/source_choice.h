// SPDX-License-Identifier: GPL-2.0-or-later
// Which source a session has.
#pragma once

#include "ui/agent/focus.h"

#include <QDBusConnection>

namespace happe::ui {

enum class FocusBy { Auto, Sway, Hyprland, KWin, Gnome, Toplevel, X11 };

// Opens this source, or the best that the session has. An error says of each that might be what it lacks.
[[nodiscard]] SourceOrError open_focus_source(FocusBy by, const QDBusConnection& session_bus,
                                              const FocusSource::Events& events);

}  // namespace happe::ui
