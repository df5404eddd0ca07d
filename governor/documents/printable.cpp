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

}  // namespace happe
