// SPDX-License-Identifier: GPL-2.0-or-later
// Chooses the source of a session.
#pragma once

#include "ui/agent/focus.h"

#include <QDBusConnection>

namespace happe::ui {

// Opens this source; with Auto, the best that the session has, if it is better than `better_than`. An error lists what
// each possible source lacks.
[[nodiscard]] SourceOrError open_focus_source(FocusBy by, FocusBy better_than, const QDBusConnection& session_bus,
                                              const FocusSource::Events& events);

}  // namespace happe::ui
