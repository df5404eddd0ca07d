// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/printable.h"

#include "governor/documents/json_document.h"

#include <fmt/format.h>

namespace happe {

std::string printable(std::string_view text, std::size_t longest) {
    constexpr unsigned char kDelete = 0x7f;
    const bool utf8 = json::is_utf8(std::string(text));
    std::string result;
    std::size_t taken = 0;
    for (const char byte : text) {
        const auto code = static_cast<unsigned char>(byte);
        const bool within_character = utf8 && (code & 0xC0U) == 0x80U;
        if (taken >= longest && !within_character) {
            return result + "...";
        }
        const bool shown = code > kDelete ? utf8 : code >= ' ' && code < kDelete;
        result += shown ? std::string(1, byte) : fmt::format("\\x{:02x}", code);
        ++taken;
    }
    return result;
}

std::string number_list(const std::vector<std::uint32_t>& numbers) {
    std::string result;
    for (std::size_t first = 0; first < numbers.size();) {
        std::size_t last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] > numbers[last] &&
               numbers[last + 1] - numbers[last] == 1) {
            ++last;
        }
        result += fmt::format("{}{}", result.empty() ? "" : ",", numbers[first]);
        result += last > first ? fmt::format("-{}", numbers[last]) : "";
        first = last + 1;
    }
    return result;
}

}  // namespace happe
