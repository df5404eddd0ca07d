// SPDX-License-Identifier: GPL-2.0-or-later
// Describes a program's options and commands from its CLI11 definition. tools/happe_describe makes the manual page and
// completion from it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// Facts that are not in the CLI11 definition: the manual's section, and the page's last sections in the form of the
// footer of --help ("Files: ...", an empty line, "See also: ...").
struct About {
    int section = 1;
    std::string_view version;
    std::string_view more;
};

// Adds --describe, which prints the description as JSON; --help does not show it. Like --version, it ends the parse by
// CLI::Success. Call after you have added all options and commands.
void add_description(CLI::App& program, const About& about);

// The names of a command's options, with dashes, and of its subcommands, without hidden ones (in the group "").
[[nodiscard]] std::vector<std::string> option_names(const CLI::App& command);
[[nodiscard]] std::vector<std::string> command_names(const CLI::App& command);

}  // namespace happe
