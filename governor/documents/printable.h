// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// Makes a text from outside safe for a message: writes control characters, and in text that is not UTF-8 all bytes from
// 0x80, as \x1b. Replaces bytes beyond `longest` by "...".
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest);

[[nodiscard]] std::string number_list(const std::vector<std::uint32_t>& numbers);  // ascending: "0-3,6"

}  // namespace happe
