// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/press_series.h"

#include <vector>

namespace happe {

// The two keys.
class KeySource {
public:
    // Appends the presses since the last call, in order of time.
    virtual void take(std::vector<Press>& presses) = 0;

    virtual ~KeySource() = default;
};

}  // namespace happe
