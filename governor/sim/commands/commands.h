// SPDX-License-Identifier: GPL-2.0-or-later
// happe-sim's subcommands. Each adds itself to the command line and leaves its exit status behind (sysexits.h).
#pragma once

#include "governor/core/result.h"

#include <CLI/CLI.hpp>
#include <cstddef>

namespace happe {

inline constexpr std::size_t kMostParticipants = 100'000;

void add_replay(CLI::App& program, int& status);
void add_play(CLI::App& program, int& status);
void add_study(CLI::App& program, int& status);
void add_field(CLI::App& program, int& status);
void add_observe(CLI::App& program, int& status);

// "happe-sim: ..." on standard error; the status for the caller to return.
int complain(const Error& error, int status);

// Everything printed is where it was sent, or that is complained about.
int flushed(int status);

}  // namespace happe
