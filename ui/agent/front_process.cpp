// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/front_process.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <iterator>

namespace happe::ui {
namespace {

constexpr int kFieldsBeforeStart = 19;  // from the state, after the program's name in parentheses

// glibc 2.36 declares them without extern "C".
int pidfd_of(pid_t pid) {
    return pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
}

bool alive(const FileDescriptor& pidfd) {
    return ::syscall(SYS_pidfd_send_signal, pidfd.get(), 0, nullptr, 0) == 0 ||
           errno == EPERM;  // another user's process, which is alive
}

}  // namespace

BootTime boot_time_now() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::duration_cast<BootTime>(std::chrono::seconds(now.tv_sec) +
                                                std::chrono::nanoseconds(now.tv_nsec));
}

std::optional<BootTime> start_in_stat(std::string_view stat) {
    std::size_t at = stat.rfind(')');
    for (int field = 0; field <= kFieldsBeforeStart && at != std::string_view::npos; ++field) {
        at = stat.find(' ', at + 1);
    }
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::int64_t ticks = 0;  // USER_HZ is 100 on every architecture that has cpufreq
    const char* const end = stat.data() + stat.size();
    const auto [next, error] = std::from_chars(stat.data() + at + 1, end, ticks);
    return error == std::errc() && ticks >= 0 && next != end && *next == ' ' ? std::optional(BootTime(ticks))
                                                                             : std::nullopt;
}

tl::expected<Process, std::string> open_process(pid_t pid, BootTime said) {
    const std::string name = "process " + std::to_string(pid);
    Process process{.pidfd = FileDescriptor(pidfd_of(pid)), .pid = pid};
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const auto started = start_in_stat(stat);
    if (process.pidfd.get() < 0 || !started || !alive(process.pidfd)) {  // still alive, so this was its line
        return tl::unexpected(name + " has ended");
    }
    if (*started > said) {
        return tl::unexpected(name + " started after its window was in front: it is another one");
    }
    process.started = *started;
    return process;
}

}  // namespace happe::ui
