// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <clocale>
#include <ctime>
#include <cwchar>
#include <optional>
#include <sstream>

namespace happe::ctl {
namespace {

constexpr std::size_t kLongest = 1'000;  // bytes of one printable text

struct Character {
    std::uint32_t code = 0;
    std::size_t bytes = 1;
};

// The text's first character; empty if it is not UTF-8 (RFC 3629: without surrogates and overlong forms).
std::optional<Character> first_of(std::string_view text) {
    const auto byte = [&](std::size_t index) -> std::uint32_t { return static_cast<unsigned char>(text[index]); };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) {
        return Character{lead, 1};
    }
    const std::size_t bytes = 2 + std::size_t{lead >= 0xE0} + std::size_t{lead >= 0xF0};
    if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) {
        return std::nullopt;
    }
    std::uint32_t code = lead & (0x7FU >> bytes);
    for (std::size_t index = 1; index < bytes; ++index) {
        if ((byte(index) & 0xC0U) != 0x80) {
            return std::nullopt;
        }
        code = code << 6U | (byte(index) & 0x3FU);
    }
    constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
    const bool valid = code >= kLeast.at(bytes) && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    return valid ? std::optional(Character{code, bytes}) : std::nullopt;
}

// True for invisible characters that move, hide or reorder others.
bool deceives(std::uint32_t code) {
    struct Range {
        std::uint32_t first;
        std::uint32_t last;
    };
    constexpr std::array kRanges = {Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0xAD, 0xAD},
                                    Range{0x061C, 0x061C}, Range{0x180E, 0x180E}, Range{0x200B, 0x200F},
                                    Range{0x2028, 0x202E}, Range{0x2060, 0x206F}, Range{0xFE00, 0xFE0F},
                                    Range{0xFEFF, 0xFEFF}, Range{0xFFF9, 0xFFFB}, Range{0xE0000, 0xE0FFF}};
    return std::ranges::any_of(kRanges, [&](const Range& range) { return range.first <= code && code <= range.last; });
}

bool shows(std::uint32_t code, const Style& style) {
    return code < 0x80 ? !deceives(code)
                       : style.unicode && !deceives(code) && ::wcwidth(static_cast<wchar_t>(code)) >= 0;
}

std::string escaped(std::uint32_t code) {
    if (code < 0x100) {
        return fmt::format("\\x{:02x}", code);
    }
    return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

std::size_t columns_of(std::string_view text, const Character& character) {
    const int columns = text.empty() ? 0 : ::wcwidth(static_cast<wchar_t>(character.code));
    return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

std::size_t terminal_columns() {
    winsize size{};
    if (::isatty(STDOUT_FILENO) == 0) {
        return 0;
    }
    constexpr std::size_t kUsual = 80;
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

std::string padded(const std::string& cell, std::size_t columns) {
    const std::size_t taken = width(cell);
    return cell + std::string(columns > taken ? columns - taken : 0, ' ');
}

}  // namespace

Style style_of_output(bool ascii) {
    std::setlocale(LC_CTYPE, "");
    return {.unicode = !ascii && std::string_view(::nl_langinfo(CODESET)) == "UTF-8", .columns = terminal_columns()};
}

std::string printable(std::string_view text, const Style& style) {
    std::string result;
    while (!text.empty() && result.size() < kLongest) {
        const auto character = first_of(text);
        if (!character) {
            result += escaped(static_cast<unsigned char>(text[0]));
        } else if (shows(character->code, style)) {
            result += text.substr(0, character->bytes);
        } else {
            result += escaped(character->code);
        }
        text.remove_prefix(character ? character->bytes : 1);
    }
    return text.empty() ? result : result + "...";
}

std::vector<std::string> lines_of(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::size_t width(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const Character character = first_of(text).value_or(Character{});
        columns += columns_of(text, character);
        text.remove_prefix(character.bytes);
    }
    return columns;
}

std::string fit(std::string_view text, std::size_t columns) {
    if (columns == 0 || width(text) <= columns) {
        return std::string(text);
    }
    std::string result;
    std::size_t taken = 0;
    while (!text.empty()) {
        const Character character = first_of(text).value_or(Character{});
        taken += columns_of(text, character);
        if (taken >= columns) {
            break;
        }
        result += text.substr(0, character.bytes);
        text.remove_prefix(character.bytes);
    }
    return result + "~";
}

std::string table(const Rows& rows, const Style& style) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t column = 0; column < row.size(); ++column) {
            widths[column] = std::max(widths[column], width(row[column]));
        }
    }
    std::string result;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column) {
            const bool last = column + 1 == row.size();
            line += last ? row[column] : padded(row[column], widths[column] + 2);
        }
        result += fit(line, style.columns) + '\n';
    }
    return result;
}

std::string gigahertz(Khz khz) {
    std::string number = fmt::format("{:.3f}", khz.value / 1e6);
    while (number.ends_with('0') && number[number.size() - 2] != '.') {
        number.pop_back();
    }
    return number + " GHz";
}

std::string percent(Ppm share) {
    return fmt::format("{:.0f} %", share.value / 1e4);
}

namespace {

constexpr std::int64_t kSecond = 1'000'000;

std::int64_t whole_seconds(std::int64_t micros) {
    return micros / kSecond - (micros % kSecond < 0 ? 1 : 0);
}

}  // namespace

std::string local_time(std::int64_t micros) {
    const std::time_t time = whole_seconds(micros);
    std::tm parts{};
    return ::localtime_r(&time, &parts) != nullptr ? fmt::format("{:%Y-%m-%d %H:%M:%S}", parts) : "-";
}

std::string utc_time(std::int64_t micros) {
    const std::time_t time = whole_seconds(micros);
    std::tm parts{};
    return ::gmtime_r(&time, &parts) != nullptr
               ? fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, ((micros % kSecond) + kSecond) % kSecond)
               : "-";
}

}  // namespace happe::ctl
