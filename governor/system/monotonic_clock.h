// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/units.h"

namespace happe {

// The machine's CLOCK_MONOTONIC, which stands still while it sleeps. Only main programs use it; all other code gets
// the time as an argument.
MonoTime monotonic_now();

}  // namespace happe
