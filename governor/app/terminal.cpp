// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/app/terminal.h"

namespace happe {

RawTerminal::RawTerminal(int descriptor) : descriptor_(descriptor) {
    termios found{};
    if (tcgetattr(descriptor, &found) != 0) {
        return;
    }
    termios raw = found;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    if (tcsetattr(descriptor, TCSANOW, &raw) == 0) {
        found_ = found;
    }
}

RawTerminal::~RawTerminal() {
    if (found_) {
        tcsetattr(descriptor_, TCSANOW, &*found_);
    }
}

}  // namespace happe
