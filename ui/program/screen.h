// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace happe::ui {

// True if the environment names a window system. If not, prints a message, because Qt would only abort.
[[nodiscard]] bool has_screen(const char* program);

}  // namespace happe::ui
