// SPDX-License-Identifier: GPL-2.0-or-later
// Converts values from the bus (docs/dbus.md) for governor/explain.
#pragma once

#include "governor/explain/reasons.h"

#include <QVariantMap>
#include <vector>

namespace happe::ui {

// Leaves out values that are missing or of another type.
[[nodiscard]] Situation situation_of(const QVariantMap& properties);

// The answer of ListEvents, oldest first; empty if it has another type.
[[nodiscard]] std::vector<LearningEvent> lessons_of(const QVariant& events);

// The same for the answer of Undo.
[[nodiscard]] std::vector<LearningEvent> undone_of(const QVariant& undone);

}  // namespace happe::ui
