// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/units.h"

namespace happe {

// The machine's CLOCK_MONOTONIC, which stands still while it sleeps. For main programs; everything else is told the
// time.
MonoTime monotonic_now();

}  // namespace happe
