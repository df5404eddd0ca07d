// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace happe::ui {

// Whether the environment names a window system. Without one, Qt would abort; then it tells the person.
[[nodiscard]] bool has_screen(const char* program);

}  // namespace happe::ui
