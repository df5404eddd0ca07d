// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"

#include <optional>
#include <span>

namespace happe {

// The source of utilisation.
class UtilisationSource {
public:
    // Each CPU's utilisation since the last call, by CPU number. Empty for a CPU that is off line or whose counters did
    // not advance. The first call starts the measurement. The span is valid until the next call.
    [[nodiscard]] virtual Result<std::span<const std::optional<Ppm>>> sample() = 0;

    virtual ~UtilisationSource() = default;
};

}  // namespace happe
