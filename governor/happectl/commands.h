// SPDX-License-Identifier: GPL-2.0-or-later
// The subcommands of happectl. Each function adds one to the program; if the user chooses it, it sets `task`.
#pragma once

#include "governor/documents/configuration.h"
#include "governor/happectl/bus.h"
#include "governor/happectl/outcome.h"
#include "governor/happectl/text.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
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

// Adds APPLICATION, which the command needs.
void add_application(CLI::App& command, std::string& application);

// Adds --user. `purpose`: "List the presses of this user".
void add_user(CLI::App& command, std::string& user, const std::string& purpose);

// Makes the command call action(daemon, *options) with a connection to happed.
template <typename Options, typename Action>
void with_daemon(CLI::App& command, Task& task, const std::shared_ptr<Options>& options, Action action) {
    command.callback([options, action, &task] {
        task = [options, action] {
            return with_daemon([&](DaemonProxy& daemon) -> Outcome<int> { return action(daemon, *options); });
        };
    });
}

// A name as in docs/dbus.md: 1 to 255 bytes of UTF-8.
extern const CLI::Validator kName;

// Writes to standard output. The program reports errors when it ends.
void say(const std::string& text);

// Takes each event with a number above `after`, page by page, and returns the last number. Stops if happed repeats an
// answer, or if the output is closed.
Outcome<std::int64_t> each_event_after(DaemonProxy& daemon, const std::string& user, const std::string& application,
                                       std::int64_t after, const std::function<void(const LearningEvent&)>& take);

// Makes happed read its configuration again.
Outcome<int> read_configuration_again(DaemonProxy& daemon);

// Writes a remark to standard error.
void remark(const std::string& text);

// Reads a configuration from a file; "-" is standard input. EX_DATAERR: it has mistakes, one on each line of the
// message.
Outcome<Configuration> configuration_in(const std::string& path);

}  // namespace happe::ctl
