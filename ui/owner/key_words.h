// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <QString>

namespace happe::ui {

// Names a key of the configuration ("CTRL+META+KEY_UP", "KEY_FN_F5") as keyboards and people do: "Ctrl+Super+Up",
// "Fn+F5". A key without such a name keeps its own, with spaces: "KEY_DISPLAY_OFF" is "Display off". The kernel names
// letters by their place on a US keyboard.
[[nodiscard]] QString key_in_words(const QString& binding);

}  // namespace happe::ui
