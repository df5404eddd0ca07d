// SPDX-License-Identifier: GPL-2.0-or-later
// Completion of a program's command line in a shell: commands, options, the words an option takes, files.
#pragma once

#include "packaging/cli/cpp/command_tree.h"

#include <string>

namespace happe {

// To be sourced, or put into bash-completion's completions/ under the program's name.
[[nodiscard]] std::string bash_completion(const Command& program);

// To be put into a folder of $fpath as _PROGRAM.
[[nodiscard]] std::string zsh_completion(const Command& program);

}  // namespace happe
