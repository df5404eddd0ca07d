// SPDX-License-Identifier: GPL-2.0-or-later
// The person at the terminal: single keys as presses, and the wish to leave. The terminal is put back as found.
#pragma once

#include "governor/core/key_source.h"

#include <poll.h>
#include <termios.h>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace happe {

// Reads standard input, which may also be a pipe or closed. Signals of leaving and stopping (Ctrl-C, Ctrl-Z, hanging
// up) are read, not suffered, so that there is time to put everything back; SIGPIPE is ignored.
class Terminal : public KeySource {
public:
    enum class Event : std::uint8_t { Time, Keys, Leave };

    Terminal();
    ~Terminal() override;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    // Until something is typed, a signal comes, or this time is over.
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
