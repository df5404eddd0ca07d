// SPDX-License-Identifier: GPL-2.0-or-later
// happe-sim: the learning governor without a cpufreq driver.
#include "governor/cli/usage_mistake.h"
#include "governor/sim/commands/commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

namespace happe {

int complain(const Error& error, int status) {
    std::cout.flush();
    std::fputs(fmt::format("happe-sim: {}\n", error.message).c_str(), stderr);  // standard output may be closed or full
    return status;
}

int flushed(int status) {
    errno = 0;
    std::cout.flush();
    if (!std::cout) {
        return complain({fmt::format("standard output: {}", errno != 0 ? std::strerror(errno) : "cannot write")},
                        EX_IOERR);
    }
    return status;
}

namespace {

// A file opened later must not become standard input, output or error. A closed one reads as empty and cannot be
// written.
void occupy_closed_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) == -1) {
            open("/dev/null", O_RDONLY);
        }
    }
}

}  // namespace
}  // namespace happe

int main(int argc, char** argv) try {
    happe::occupy_closed_descriptors();
    CLI::App program(
        "happe-sim - HAPPE's learning governor in simulation.\n\n"
        "Runs the loop of the daemon on a recorded trace (replay), on simulated participants and the paper's ThinkPad\n"
        "T61 (study, play), or on this machine's real utilisation with simulated frequencies (observe).",
        "happe-sim");
    program.set_help_all_flag("--help-all", "Print the help of all commands");
    program.set_version_flag("--version", "happe-sim " HAPPE_VERSION);
    program.require_subcommand(1);
    program.footer(
        "`happe-sim SUBCOMMAND --help` has examples.\n\n"
        "Exit status: 0 done, 1 a check failed, 64 wrong usage, 65 bad input, 66 no such input, 73 cannot create\n"
        "output, 74 cannot write.\n\n"
        "See also: happectl(1), happed(8)");
    int status = 0;
    happe::add_replay(program, status);
    happe::add_study(program, status);
    happe::add_play(program, status);
    happe::add_observe(program, status);
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
        return happe::flushed(program.exit(help_or_version));
    } catch (const CLI::ParseError& error) {
        return happe::complain({happe::usage_mistake(program, error)}, EX_USAGE);
    }
    return status;
} catch (const std::exception& error) {
    return happe::complain({fmt::format("{}; please report this", error.what())}, EX_SOFTWARE);
}
