// SPDX-License-Identifier: GPL-2.0-or-later
// What the bus tells (docs/dbus.md), as governor/explain takes it.
#pragma once

#include "governor/explain/reasons.h"

#include <QVariantMap>
#include <vector>

namespace happe::ui {

// Leaves out values that are missing or of another type.
[[nodiscard]] Situation situation_of(const QVariantMap& properties);

// The answer of ListEvents, oldest first; empty if it is of another type.
[[nodiscard]] std::vector<LearningEvent> lessons_of(const QVariant& events);

// The answer of Undo; the same.
[[nodiscard]] std::vector<LearningEvent> undone_of(const QVariant& undone);

}  // namespace happe::ui
