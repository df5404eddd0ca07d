// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/units.h"

namespace happe {

// The limits that another program or the kernel sets for a policy.
struct PolicyLimits {
    PolicyId policy;
    Khz least;
    Khz most;
    bool operator==(const PolicyLimits&) const = default;
};

}  // namespace happe
