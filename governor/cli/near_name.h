// SPDX-License-Identifier: GPL-2.0-or-later
// Suggestions for a mistyped name.
#pragma once

#include <span>
#include <string_view>

namespace happe {

// The name that fewest insertions, deletions and replacements of a character make of `typed`; empty if none is near: at
// most two, and fewer than half of what was typed.
[[nodiscard]] std::string_view nearest_name(std::string_view typed, std::span<const std::string_view> names);

}  // namespace happe
