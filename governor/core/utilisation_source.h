// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"

#include <optional>
#include <span>

namespace happe {

// Where utilisation comes from.
class UtilisationSource {
public:
    // Each CPU's utilisation since the call before, by CPU number; nothing for a CPU that is off line or of which no
    // time has been counted. The first call starts the measurement. The span is valid until the next call.
    [[nodiscard]] virtual Result<std::span<const std::optional<Ppm>>> sample() = 0;

    virtual ~UtilisationSource() = default;
};

}  // namespace happe
