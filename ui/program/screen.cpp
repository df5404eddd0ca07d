// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/program/screen.h"

#include <QtGlobal>
#include <algorithm>
#include <cstdio>
#include <initializer_list>

namespace happe::ui {

bool has_screen(const char* program) {
    const std::initializer_list<const char*> named{"WAYLAND_DISPLAY", "DISPLAY", "QT_QPA_PLATFORM"};
    if (std::ranges::any_of(named, [](const char* name) { return !qEnvironmentVariableIsEmpty(name); })) {
        return true;
    }
    std::fprintf(stderr, "%s: no window system: neither WAYLAND_DISPLAY nor DISPLAY is set; start it in a desktop\n",
                 program);
    return false;
}

}  // namespace happe::ui
