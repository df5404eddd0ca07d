// SPDX-License-Identifier: GPL-2.0-or-later
// A terminal that gives single keys, put back as found.
#pragma once

#include <termios.h>
#include <optional>

namespace happe {

class RawTerminal {
public:
    // Does nothing if the descriptor is no terminal. Ctrl-C still signals.
    explicit RawTerminal(int descriptor);
    ~RawTerminal();
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

private:
    int descriptor_;
    std::optional<termios> found_;
};

}  // namespace happe
