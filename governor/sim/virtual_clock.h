// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/units.h"

namespace happe::sim {

// Time that passes only on command.
class VirtualClock {
public:
    explicit VirtualClock(MonoTime begin = {}) : now_(begin) {}
    [[nodiscard]] MonoTime now() const { return now_; }
    void advance(Micros by) { now_ += by; }

private:
    MonoTime now_;
};

}  // namespace happe::sim
