// SPDX-License-Identifier: GPL-2.0-or-later
// What a program takes, told from its CLI11 definition: tools/happe_describe makes manual page and completion of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// What a program's definition does not say: the manual's section, and the page's last sections as in the footer of
// --help ("Files: ...", an empty line, "See also: ...").
struct About {
    int section = 1;
    std::string_view version;
    std::string_view more;
};

// Adds --describe, hidden from --help, which prints the program's description as JSON. It leaves the parse as
// --version does, by CLI::Success. Call when the program's options and commands are there.
void add_description(CLI::App& program, const About& about);

// The names, with their dashes, of a command's options, and those of its commands. Without what is hidden (in the
// group "").
[[nodiscard]] std::vector<std::string> option_names(const CLI::App& command);
[[nodiscard]] std::vector<std::string> command_names(const CLI::App& command);

}  // namespace happe
