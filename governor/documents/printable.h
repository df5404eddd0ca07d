// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// What others wrote, as part of a message: control characters, and every byte from 0x80 on in what is no UTF-8, are
// \x1b. Of more than `longest` bytes the rest is "...".
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest);

[[nodiscard]] std::string number_list(const std::vector<std::uint32_t>& numbers);  // ascending: "0-3,6"

}  // namespace happe
