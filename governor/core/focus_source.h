// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/profile_book.h"

namespace happe {

// Reports who is at the machine, and which application has their attention.
class FocusSource {
public:
    // Null if HAPPE serves nobody: greeter, lock screen, suspend, or a run of the kernel's governor.
    [[nodiscard]] virtual const Served* served() const = 0;

    // True if the machine runs one step lower than learned.
    [[nodiscard]] virtual bool saves_power() const { return false; }

    // True if somebody used the machine recently. Only then does HAPPE probe.
    [[nodiscard]] virtual bool present() const { return false; }

    // While somebody is present: the longest time since somebody used keyboard or pointer, as far as this source can
    // tell. HAPPE accepts a probe only if it knows that somebody used them after it began.
    [[nodiscard]] virtual Micros idle() const { return Micros{0}; }

    // The CPU time that the application in front has used since the last turn, in ppm of one CPU. Where others use
    // more, HAPPE does not probe. `lasted`: the time since the last turn.
    [[nodiscard]] virtual Ppm front(Micros /*lasted*/) const { return kMostWork; }

    virtual ~FocusSource() = default;
};

}  // namespace happe
