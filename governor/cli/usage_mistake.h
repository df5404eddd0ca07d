// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace happe {

// Describes the mistake in a command line that `program` has refused, with advice. Reports an unknown command or
// option, with the nearest known one, before any other mistake, such as a missing argument.
[[nodiscard]] std::string usage_mistake(const CLI::App& program, const CLI::ParseError& error);

}  // namespace happe
