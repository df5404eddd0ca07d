// SPDX-License-Identifier: GPL-2.0-or-later
// Suggestions for a mistyped name.
#pragma once

#include <span>
#include <string_view>

namespace happe {

// The name with the fewest insertions, deletions and replacements of a character from `typed`. Empty if all need more
// than two, or half of the typed characters or more.
[[nodiscard]] std::string_view nearest_name(std::string_view typed, std::span<const std::string_view> names);

}  // namespace happe
