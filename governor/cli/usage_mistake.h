// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace happe {

// What is wrong with a command line that `program` has refused, and what to do. An unknown command or option is
// named, with the nearest known one; it comes before any other mistake, such as a missing argument.
[[nodiscard]] std::string usage_mistake(const CLI::App& program, const CLI::ParseError& error);

}  // namespace happe
