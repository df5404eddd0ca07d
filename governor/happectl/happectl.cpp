// SPDX-License-Identifier: GPL-2.0-or-later
// happectl: the client of happed.
#include "governor/cli/usage_mistake.h"
#include "governor/happectl/commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

namespace happe::ctl {

namespace {

int complain(const Trouble& trouble) {
    remark(trouble.message);
    return trouble.status;
}

int flushed(int status) {
    errno = 0;
    std::cout.flush();
    if (!std::cout) {
        return complain(
            {EX_IOERR, fmt::format("standard output: {}", errno != 0 ? std::strerror(errno) : "cannot write")});
    }
    return status;
}

// A file opened later must not become standard input, output or error.
void occupy_closed_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) == -1) {
            open("/dev/null", O_RDONLY);
        }
    }
}

void add_commands(CLI::App& program, Task& task) {
    for (const auto add : {add_status, add_doctor, add_profiles, add_events, add_explain, add_undo, add_hold,
                           add_feedback, add_keys, add_run, add_study, add_restore, add_check, add_reload, add_setup}) {
        add(program, task);
    }
}

int act(const Task& task) {
    const Outcome<int> outcome = task();
    if (!outcome) {
        std::cout.flush();
        return complain(outcome.error());
    }
    return flushed(*outcome);
}

}  // namespace
}  // namespace happe::ctl

int main(int argc, char** argv) try {
    happe::ctl::occupy_closed_descriptors();
    CLI::App program(
        "happectl - talks to happed, the governor that learns from two keys.\n\n"
        "Shows HAPPE's state and what it has learned, finds problems, pauses HAPPE, and restores the\n"
        "kernel's governor.",
        "happectl");
    program.set_help_all_flag("--help-all", "Print the help of all commands");
    program.set_version_flag("--version", "happectl " HAPPE_VERSION);
    program.require_subcommand(1);
    program.footer(
        "Examples:\n"
        "  sudo happectl setup            the first run\n"
        "  happectl status --watch        what HAPPE does now\n"
        "  happectl doctor                what keeps HAPPE from working, and how to solve it\n"
        "  happectl profiles show torcs   what HAPPE learned from you in the application torcs\n"
        "  happectl hold -- make          the kernel's governor while a command runs\n\n"
        "Exit status: 0 done, 1 a check found a fault, 64 wrong usage, 65 bad data, 66 not found, 69 happed or\n"
        "the bus does not answer, or systemctl is missing, 73 cannot create a file, 74 cannot write or read, 75 busy,\n"
        "76 happed is of another version, 77 not allowed.  `happectl COMMAND --help` has more examples.\n\n"
        "Files: /etc/happe/happe.toml explains every option.\n\n"
        "See also: happed(8), happe-sim(1)");
    happe::ctl::Task task;
    happe::ctl::add_commands(program, task);
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
        return happe::ctl::flushed(program.exit(help_or_version));
    } catch (const CLI::ParseError& error) {
        return happe::ctl::complain({EX_USAGE, happe::usage_mistake(program, error)});
    }
    return happe::ctl::act(task);
} catch (const std::exception& error) {
    return happe::ctl::complain({EX_SOFTWARE, fmt::format("{}; please report this", error.what())});
}
