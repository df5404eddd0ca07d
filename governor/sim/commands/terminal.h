// SPDX-License-Identifier: GPL-2.0-or-later
// Reads single keys at the terminal as presses, and notices when the person leaves. The destructor restores the
// terminal.
#pragma once

#include "governor/core/key_source.h"

#include <poll.h>
#include <termios.h>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace happe {

// Reads standard input, which may also be a pipe or closed. Also reads the signals to leave or stop (Ctrl-C, Ctrl-Z,
// hangup), so that there is time to restore everything. Ignores SIGPIPE.
class Terminal : public KeySource {
public:
    enum class Event : std::uint8_t { Time, Keys, Leave };

    Terminal();
    ~Terminal() override;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    // Waits until somebody types, a signal comes, or this time is over.
    Event wait(Micros time);

    // After Event::Keys: f or + is the performance key, s or - the power key, q leaves. True if there are presses to
    // take.
    bool read(MonoTime now);

    void take(std::vector<Press>& presses) override;

private:
    void typed(char key, MonoTime now);
    bool stops();
    void put_back();

    std::optional<termios> found_;
    std::array<pollfd, 2> sources_{};  // keys, signals
    bool leaving_ = false;
    std::vector<Press> waiting_;
};

}  // namespace happe
