// SPDX-License-Identifier: GPL-2.0-or-later
// happe-sim: the learning governor without a cpufreq driver.
#include "governor/cli/usage_mistake.h"
#include "governor/sim/commands/commands.h"
#include "governor/sim/replay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <system_error>

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

int replay_stream(std::istream& trace, const std::string& name) try {
    const Status done = replay(trace, name, std::cout);
    return flushed(done ? EX_OK : complain(done.error(), EX_DATAERR));
} catch (const std::ios_base::failure&) {  // a file buffer throws this if it cannot read any further
    return complain({fmt::format("{}: cannot read: {}", name, std::strerror(errno))}, EX_IOERR);
}

// The writer of a pipe or terminal may wait for the decision on a line before the next line.
void answer_each_line_unless_a_file(const std::string& path) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) {
        std::cout << std::unitbuf;
    }
}

int replay_file(const std::string& path) {
    answer_each_line_unless_a_file(path == "-" ? "/dev/stdin" : path);
    if (path == "-") {
        return replay_stream(std::cin, "<stdin>");
    }
    if (std::filesystem::is_directory(path)) {
        return complain({path + ": is a directory"}, EX_NOINPUT);
    }
    std::ifstream trace(path, std::ios::binary);
    if (!trace) {
        return complain({fmt::format("{}: {}", path, std::strerror(errno))}, EX_NOINPUT);
    }
    return replay_stream(trace, path);
}

void add_replay(CLI::App& program, int& status) {
    CLI::App* const command = program.add_subcommand("replay", "Print the decision for each observation of a trace");
    const auto path = std::make_shared<std::string>();
    command->add_option("TRACE", *path, "A trace in JSON Lines; - reads standard input")->type_name("FILE")->required();
    command->footer(
        "A trace is a header and an observation a line, as happe-sim observe --record and happed write them:\n\n"
        "  {\"format\":\"happe-trace/1\",\"mode\":\"paper\",\"feedback\":\"next-sample\",\"period_us\":1000000,\n"
        "   \"ladders_khz\":{\"0\":[800000,1200000,1600000,2200000,2300000]},\"uafp\":[]}\n"
        "  {\"t_us\":1000000,\"user\":\"alice\",\"app\":\"torcs\",\"policies\":[{\"id\":0,\"util_ppm\":[970000,310000]}],\n"
        "   \"keys\":[{\"t_us\":400000,\"key\":\"performance\"}]}\n\n"
        "(each on one line). Errors name file, line and field; what was decided before the bad line is printed.\n\n"
        "Examples:\n"
        "  happe-sim replay run.jsonl\n"
        "  happe-sim observe --seconds 60 --record - | happe-sim replay -");
    command->callback([path, &status] { status = replay_file(*path); });
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
