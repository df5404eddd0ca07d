// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/replay.h"
#include "governor/sim/commands/commands.h"

#include <fmt/format.h>
#include <sysexits.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <system_error>

namespace happe {
namespace {

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

}  // namespace

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

}  // namespace happe
