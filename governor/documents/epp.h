// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/documents/json_document.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace happe {

// The energy performance preferences that HAPPE sets. Not "default": the kernel then shows another word, so HAPPE could
// not recognise its own setting.
inline constexpr std::array<std::string_view, 4> kEpps{"performance", "balance_performance", "balance_power", "power"};

inline std::string read_epp(const json::Field& field) {
    return std::string(kEpps[field.one_of({kEpps[0], kEpps[1], kEpps[2], kEpps[3]})]);
}

}  // namespace happe
