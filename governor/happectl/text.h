// SPDX-License-Identifier: GPL-2.0-or-later
// Text for a terminal. Makes text from outside harmless: no escape sequence, control character or change of the writing
// direction reaches the terminal.
#pragma once

#include "governor/core/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace happe::ctl {

// The abilities of the output.
struct Style {
    bool unicode = false;
    std::size_t columns = 0;  // the terminal's width; 0: no terminal, no limit
};

// Also sets the process's locale from the environment.
Style style_of_output(bool ascii);

// The text on one line. Writes control and invisible characters, invalid UTF-8 and characters that the style cannot
// show as \x1b or \u202e. Cuts very long text.
std::string printable(std::string_view text, const Style& style);

// The lines without their ends.
std::vector<std::string> lines_of(std::string_view text);

// The number of columns of a printable text.
std::size_t width(std::string_view text);

// The text, cut to this number of columns; 0: not cut.
std::string fit(std::string_view text, std::size_t columns);

// Rows of printable cells. The first row has the heads of the columns.
using Rows = std::vector<std::vector<std::string>>;
std::string table(const Rows& rows, const Style& style);

std::string gigahertz(Khz khz);               // "2.2 GHz", "2.201 GHz"
std::string percent(Ppm share);               // "97 %"
std::string local_time(std::int64_t micros);  // since 1970; "2026-03-29 14:05:06"
std::string utc_time(std::int64_t micros);    // "2026-03-29T12:05:06.123456Z"

}  // namespace happe::ctl
