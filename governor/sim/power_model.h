// SPDX-License-Identifier: GPL-2.0-or-later
// The whole-system power of the paper's ThinkPad T61: Table A.2, bilinear in utilisation and frequency.
#pragma once

#include "governor/core/ladder.h"

namespace happe::sim {

// Watts with CPU 0 at this frequency and utilisation (0 to 1), a 3D screen saver running as in Table A.2. Frequencies
// outside the ladder count as its ends.
double t61_watts(Khz khz, double utilisation);

}  // namespace happe::sim
