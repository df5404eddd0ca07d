// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/units.h"

namespace happe {

// The machine's CLOCK_MONOTONIC, which stands still while it sleeps. Only main programs use it; all other code gets
// the time as an argument.
inline MonoTime monotonic_now() {
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    return MonoTime(std::chrono::duration_cast<Micros>(since_boot));
}

}  // namespace happe
