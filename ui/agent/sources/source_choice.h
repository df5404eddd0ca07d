// SPDX-License-Identifier: GPL-2.0-or-later
// Which source a session has.
#pragma once

#include "ui/agent/focus.h"

#include <QDBusConnection>

namespace happe::ui {

// Opens this source, or the best that the session has. With `better_than`, only one that is better than this one. An
// error says of each that might be what it lacks.
[[nodiscard]] SourceOrError open_focus_source(FocusBy by, FocusBy better_than, const QDBusConnection& session_bus,
                                              const FocusSource::Events& events);

}  // namespace happe::ui
