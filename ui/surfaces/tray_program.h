// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <QString>
#include <string>

namespace happe::ui {

// Where happe-tray is: beside this program, or where it is installed. Empty if it is missing.
[[nodiscard]] QString tray_program();

// Becomes happe-tray with its window; returns only if it cannot, and says why.
[[nodiscard]] std::string become_window();

}  // namespace happe::ui
