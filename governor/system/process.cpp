// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/process.h"

#include "governor/core/profile_book.h"
#include "governor/documents/json_document.h"
#include "governor/system/file_descriptor.h"
#include "governor/system/unit_name.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <systemd/sd-login.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <system_error>

namespace happe {
namespace {

constexpr std::size_t kLongestName = 255;

struct Freed {
    // NOLINTNEXTLINE(*-no-malloc,*-owning-memory): sd_pid_get_*() return memory of malloc() for the caller to free()
    void operator()(void* pointer) const { std::free(pointer); }
};
using CString = std::unique_ptr<char, Freed>;

// The first `most` bytes of a file in /proc, which shows no size.
std::string read_proc(pid_t pid, std::string_view file, std::size_t most) {
    const FileDescriptor opened(::open(fmt::format("/proc/{}/{}", pid, file).c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(most, '\0');
    const ssize_t count = opened ? ::read(opened.get(), text.data(), text.size()) : -1;
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

// The first `count` numbers on the line that begins with "NAME:".
template <std::size_t count>
std::optional<std::array<long, count>> numbers_after(std::string_view text, std::string_view name) {
    std::size_t at = 0;
    while (at != std::string_view::npos && !text.substr(at).starts_with(name)) {
        at = text.find('\n', at);
        at = at == std::string_view::npos ? at : at + 1;
    }
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view rest = text.substr(at + name.size());
    std::array<long, count> numbers{};
    for (long& number : numbers) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (error != std::errc()) {
            return std::nullopt;
        }
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
    return numbers;
}

std::string last_part(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

std::string program_of(pid_t pid) {
    const std::string line = read_proc(pid, "cmdline", 4096);
    if (std::string name = last_part(line.substr(0, line.find('\0'))); !name.empty()) {
        return name;
    }
    const std::string comm = read_proc(pid, "comm", 64);
    return comm.substr(0, comm.find('\n'));
}

// The program of the process with the lowest number in this process's cgroup: the unit's first, while it lives.
std::string first_program_of_unit(pid_t pid) {
    char* path = nullptr;
    if (sd_pid_get_cgroup(pid, &path) < 0) {
        return {};
    }
    const CString owned(path);
    std::ifstream members(fmt::format("/sys/fs/cgroup{}/cgroup.procs", path));
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
    const std::string info = read_proc(getpid(), fmt::format("fdinfo/{}", pidfd), 4096);
    const auto pid = numbers_after<1>(info, "Pid:");
    if (!pid) {
        return failure("not a pidfd");
    }
    if (pid->front() <= 0) {  // 0: of another pid namespace; -1: gone
        return failure("the process has ended");
    }
    return static_cast<pid_t>(pid->front());
}

Result<Process> describe(int pidfd, pid_t pid) {
    Process process{.pid = pid};
    const auto uids = numbers_after<2>(read_proc(pid, "status", 4096), "Uid:");  // the real and the effective one
    process.uid = uids ? static_cast<uid_t>(uids->back()) : 0;
    process.program = program_of(pid);
    if (char* unit = nullptr; sd_pid_get_user_unit(pid, &unit) >= 0) {
        process.unit = CString(unit).get();
        process.unit_runs = first_program_of_unit(pid);
    }
    pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
    if (!uids || ::poll(&ended, 1, 0) != 0) {  // it has ended, so we may have read another process of this number
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
