// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "packaging/cli/cpp/manual.h"

#include <CLI/CLI.hpp>

namespace happe {

// Adds, hidden from --help, --manual and --completion bash|zsh, which print what the build installs. They leave the
// parse as --version does, by CLI::Success. Call when the program's options and commands are there.
void add_self_description(CLI::App& program, const About& about);

}  // namespace happe
