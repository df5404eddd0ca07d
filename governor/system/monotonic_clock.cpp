// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/monotonic_clock.h"

namespace happe {

MonoTime monotonic_now() {
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    return MonoTime(std::chrono::duration_cast<Micros>(since_boot));
}

}  // namespace happe
