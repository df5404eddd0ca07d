// SPDX-License-Identifier: GPL-2.0-or-later
// A window's texts that change.
#pragma once

#include <QLabel>

namespace happe::ui {

// A label that breaks its lines. People can select its text, by keyboard too.
[[nodiscard]] QLabel* text_label(QWidget* parent);

// Shows the text, or no label if there is none.
void say(QLabel& label, const QString& text);

}  // namespace happe::ui
