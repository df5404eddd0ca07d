// SPDX-License-Identifier: GPL-2.0-or-later
// Text for a terminal. What comes from elsewhere is made harmless: no escape sequence, no control character, nothing
// that changes the direction of writing reaches the terminal.
#pragma once

#include "governor/core/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace happe::ctl {

// What the output can show.
struct Style {
    bool unicode = false;
    std::size_t columns = 0;  // of the terminal; 0 if there is none, and no limit
};

// Sets the process's character set from the environment.
Style style_of_output(bool ascii);

// The text on one line: control and invisible characters, invalid UTF-8 and what the style cannot show are written as
// \x1b or \u202e. Cut if it's very long.
std::string printable(std::string_view text, const Style& style);

// Columns a printable text takes.
std::size_t width(std::string_view text);

// The text cut to so many columns; 0 cuts nothing.
std::string fit(std::string_view text, std::size_t columns);

// Rows of printable cells in columns, the first row being the heads.
using Rows = std::vector<std::vector<std::string>>;
std::string table(const Rows& rows, const Style& style);

std::string gigahertz(Khz khz);               // "2.2 GHz", "2.201 GHz"
std::string percent(Ppm share);               // "97 %"
std::string local_time(std::int64_t micros);  // since 1970; "2026-03-29 14:05:06"
std::string utc_time(std::int64_t micros);    // "2026-03-29T12:05:06.123456Z"

}  // namespace happe::ctl
