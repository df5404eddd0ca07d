// SPDX-License-Identifier: GPL-2.0-or-later
// happe-sim's subcommands. Each function adds one to the command line. When it runs, it sets `status` (sysexits.h).
#pragma once

#include "governor/core/result.h"

#include <CLI/CLI.hpp>
#include <cstddef>

namespace happe {

inline constexpr std::size_t kMostParticipants = 100'000;

void add_play(CLI::App& program, int& status);
void add_study(CLI::App& program, int& status);
void add_observe(CLI::App& program, int& status);

// Prints "happe-sim: ..." on standard error, and returns `status`.
int complain(const Error& error, int status);

// Flushes standard output, and complains if that fails.
int flushed(int status);

}  // namespace happe
