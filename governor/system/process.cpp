// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/process.h"

#include "governor/core/profile_book.h"
#include "governor/documents/json_document.h"
#include "governor/system/unit_name.h"

#include <fmt/format.h>
#include <poll.h>
#include <systemd/sd-login.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

namespace happe {
namespace {

constexpr std::size_t kLongestName = 255;

struct Freed {
    // NOLINTNEXTLINE(*-no-malloc,*-owning-memory): sd_pid_get_*() return memory of malloc() for the caller to free()
    void operator()(void* pointer) const { std::free(pointer); }
};
using CString = std::unique_ptr<char, Freed>;

// The first bytes of a file in /proc, which shows no size: a process can make its own arguments gigabytes long.
std::istringstream proc(pid_t pid, std::string_view file) {
    constexpr std::size_t kMost = 4096;
    std::ifstream opened(fmt::format("/proc/{}/{}", pid, file));
    std::string text(kMost, '\0');
    opened.read(text.data(), kMost);
    text.resize(static_cast<std::size_t>(opened.gcount()));
    return std::istringstream(text);
}

// The number at this place, from 1, of the line that begins with "NAME:". Empty if there is none.
std::optional<long> number_of(std::istringstream file, std::string_view name, int place) {
    std::string line;
    while (std::getline(file, line)) {
        if (line.starts_with(name)) {
            std::istringstream numbers(line.substr(name.size()));
            long number = 0;
            for (int i = 0; i < place; ++i) {
                numbers >> number;
            }
            return numbers ? std::optional(number) : std::nullopt;
        }
    }
    return std::nullopt;
}

std::string last_part(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

std::string program_of(pid_t pid) {
    std::string name;
    std::istringstream arguments = proc(pid, "cmdline");
    std::getline(arguments, name, '\0');
    name = last_part(name);
    if (name.empty()) {
        std::istringstream comm = proc(pid, "comm");
        std::getline(comm, name);
    }
    return name;
}

// Of version 2, the line "0::PATH". Empty if unknown.
std::string cgroup_of(pid_t pid) {
    constexpr std::string_view kUnified = "0::";
    std::istringstream file = proc(pid, "cgroup");
    std::string line;
    while (std::getline(file, line)) {
        if (line.starts_with(kUnified)) {
            return line.substr(kUnified.size());
        }
    }
    return {};
}

// The program of the process with the lowest number in this cgroup: the unit's first, while it lives.
std::string first_program_of_unit(const std::string& cgroup) {
    if (cgroup.empty()) {
        return {};
    }
    std::ifstream members(fmt::format("/sys/fs/cgroup{}/cgroup.procs", cgroup));
    long first = 0;
    for (long member = 0; members >> member;) {
        first = first == 0 ? member : std::min(first, member);
    }
    return first > 0 ? program_of(static_cast<pid_t>(first)) : std::string();
}

// True for U+0000 to U+001F and U+007F to U+009F.
bool has_control_character(std::string_view utf8) {
    constexpr unsigned char kDelete = 0x7f;
    constexpr unsigned char kFirstOfTwo = 0xc2;
    constexpr unsigned char kAfterControls = 0xa0;
    unsigned char before = 0;
    for (const char letter : utf8) {
        const auto byte = static_cast<unsigned char>(letter);
        if (byte < ' ' || byte == kDelete || (before == kFirstOfTwo && byte < kAfterControls)) {
            return true;
        }
        before = byte;
    }
    return false;
}

}  // namespace

Result<pid_t> process_of(int pidfd) {
    const auto pid = number_of(proc(getpid(), fmt::format("fdinfo/{}", pidfd)), "Pid:", 1);
    if (!pid) {
        return failure("not a pidfd");
    }
    if (*pid <= 0) {  // 0: of another pid namespace; -1: gone
        return failure("the process has ended");
    }
    return static_cast<pid_t>(*pid);
}

Result<Process> describe(int pidfd, pid_t pid) {
    Process process{.pid = pid};
    const auto uid = number_of(proc(pid, "status"), "Uid:", 2);  // the effective one
    process.uid = static_cast<uid_t>(uid.value_or(0));
    process.program = program_of(pid);
    process.cgroup = cgroup_of(pid);
    if (char* unit = nullptr; sd_pid_get_user_unit(pid, &unit) >= 0) {
        process.unit = CString(unit).get();
        process.unit_runs = first_program_of_unit(process.cgroup);
    } else if (sd_pid_get_session(pid, nullptr) >= 0) {
        process.cgroup.clear();  // the whole session's
    }
    pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
    if (!uid || ::poll(&ended, 1, 0) != 0) {  // it has ended, so we may have read another process of this number
        return failure("the process has ended");
    }
    return process;
}

bool is_application_name(std::string_view text) {
    return !text.empty() && text.size() <= kLongestName && json::is_utf8(std::string(text)) &&
           !has_control_character(text) && text != kNoApplication && served_of({}, text).source == PowerSource::Both;
}

std::string application_of(const Process& process, std::string_view hint) {
    if (const auto unit = application_of_unit(process.unit); unit && is_application_name(unit->application)) {
        if (unit->decides || (!process.program.empty() && process.program == process.unit_runs)) {
            return unit->application;
        }
    }
    if (is_application_name(process.program)) {
        return process.program;
    }
    return std::string(is_application_name(hint) ? hint : "unnamed");
}

}  // namespace happe
