// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/keys/evdev_keys.h"

#include <algorithm>
#include <vector>

namespace happe {

// Limits programs' presses over the bus to a person's rate, so that no program keeps happed busy.
class PressAllowance {
public:
    static constexpr int kMostAtOnce = 10;
    static constexpr Micros kEach = std::chrono::milliseconds{100};  // after these, one press in this time

    // True if a press may count now; it then uses up a place.
    [[nodiscard]] bool take(MonoTime now) {
        const MonoTime used = std::max(used_until_, now);
        if (used - now > (kMostAtOnce - 1) * kEach) {
            return false;
        }
        used_until_ = used + kEach;
        return true;
    }

private:
    MonoTime used_until_;
};

// Presses of the two keys, and presses that programs send over the bus.
class Presses final : public KeySource {
public:
    // As in EvdevKeys.
    Presses(EventLoop& loop, const KeyBindings& bindings, EvdevKeys::Hooks hooks, EvdevKeys::Paths paths)
        : keys_(loop, bindings, std::move(hooks), std::move(paths)) {}

    // Adds a program's press. Returns false, and ignores the press, if PressAllowance forbids it.
    [[nodiscard]] bool say(const Press& press);

    // Appends the presses in order of time, without those that forget() dropped.
    void take(std::vector<Press>& presses) override;

    // Drops the waiting presses, and later arrivals from before `since`.
    void forget(MonoTime since);

    void rebind(const KeyBindings& bindings) { keys_.rebind(bindings); }
    [[nodiscard]] std::size_t keyboards() const { return keys_.keyboards(); }

private:
    EvdevKeys keys_;
    PressAllowance allowance_;
    std::vector<Press> said_;
    MonoTime since_;
};

}  // namespace happe
