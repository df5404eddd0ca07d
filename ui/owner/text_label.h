// SPDX-License-Identifier: GPL-2.0-or-later
// Words of a window that change.
#pragma once

#include <QLabel>

namespace happe::ui {

// It breaks its lines, and people can select it, by keyboard too.
[[nodiscard]] QLabel* text_label(QWidget* parent);

// Shows the text, or no label if there is none.
void say(QLabel& label, const QString& text);

}  // namespace happe::ui
