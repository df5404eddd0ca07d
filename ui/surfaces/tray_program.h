// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <QString>
#include <string>

namespace happe::ui {

// The path of happe-tray: beside this program, or where it is installed. Empty if it is missing.
[[nodiscard]] QString tray_program();

// Replaces this process by happe-tray with its window. Returns only on failure, with the reason.
[[nodiscard]] std::string become_window();

}  // namespace happe::ui
