// SPDX-License-Identifier: GPL-2.0-or-later
// The subcommands of happectl. Each function adds one to the program; if the user chooses it, it sets `task`.
#pragma once

#include "governor/happectl/outcome.h"
#include "governor/happectl/text.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace happe::ctl {

struct Output {
    bool json = false;
    bool ascii = false;
    [[nodiscard]] Style style() const { return style_of_output(ascii); }
};

// The action of the chosen subcommand. Returns the exit status.
using Task = std::function<Outcome<int>()>;

void add_status(CLI::App& program, Task& task);
void add_doctor(CLI::App& program, Task& task);
void add_profiles(CLI::App& program, Task& task);
void add_events(CLI::App& program, Task& task);
void add_explain(CLI::App& program, Task& task);
void add_undo(CLI::App& program, Task& task);
void add_hold(CLI::App& program, Task& task);
void add_keys(CLI::App& program, Task& task);
void add_set_keys(CLI::App& keys, Task& task);  // a subcommand of `keys`
void add_run(CLI::App& program, Task& task);
void add_study(CLI::App& program, Task& task);
void add_restore(CLI::App& program, Task& task);
void add_check(CLI::App& program, Task& task);
void add_reload(CLI::App& program, Task& task);
void add_feedback(CLI::App& program, Task& task);
void add_setup(CLI::App& program, Task& task);

// Adds --json and --ascii.
void add_output(CLI::App& command, Output& output);

// A name as in docs/dbus.md: 1 to 255 bytes of UTF-8.
extern const CLI::Validator kName;

// Writes to standard output. The program reports errors when it ends.
void say(const std::string& text);

// Writes a remark to standard error.
void remark(const std::string& text);

}  // namespace happe::ctl
