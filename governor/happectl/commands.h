// SPDX-License-Identifier: GPL-2.0-or-later
// The subcommands of happectl. Each adds itself to the program; what it does when chosen becomes the program's end.
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

// What the chosen subcommand does; its exit status.
using Task = std::function<Outcome<int>()>;

void add_status(CLI::App& program, Task& task);
void add_doctor(CLI::App& program, Task& task);
void add_profiles(CLI::App& program, Task& task);
void add_events(CLI::App& program, Task& task);
void add_explain(CLI::App& program, Task& task);
void add_undo(CLI::App& program, Task& task);
void add_hold(CLI::App& program, Task& task);
void add_keys(CLI::App& program, Task& task);
void add_set_keys(CLI::App& keys, Task& task);  // a part of it
void add_run(CLI::App& program, Task& task);
void add_study(CLI::App& program, Task& task);
void add_restore(CLI::App& program, Task& task);
void add_check(CLI::App& program, Task& task);
void add_reload(CLI::App& program, Task& task);
void add_feedback(CLI::App& program, Task& task);
void add_setup(CLI::App& program, Task& task);

// --json and --ascii.
void add_output(CLI::App& command, Output& output);

// 1 to 255 bytes of UTF-8, as docs/dbus.md has names.
extern const CLI::Validator kName;

// To standard output; an error is noticed at the program's end.
void say(const std::string& text);

// A remark beside the output, to standard error.
void remark(const std::string& text);

}  // namespace happe::ctl
