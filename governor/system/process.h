// SPDX-License-Identifier: GPL-2.0-or-later
// Finds out which application a process belongs to: docs/daemon.md, "Who is served".
#pragma once

#include "governor/core/result.h"

#include <sys/types.h>
#include <string>
#include <string_view>

namespace happe {

// The public facts about a process: /proc/PID/{status,cmdline,comm} and its systemd unit.
struct Process {
    pid_t pid = 0;
    uid_t uid = 0;          // the effective one
    std::string program;    // the last part of argv[0], or the kernel's comm; empty if both are missing
    std::string unit;       // its unit of the user's systemd, unescaped; empty if it has none
    std::string cgroup;     // empty if unknown, or if it belongs to the whole session
    std::string unit_runs;  // the program of that unit's first process; empty if unknown
};

// The pidfd's process, in our pid namespace. An error if this is not a pidfd or its process has ended.
Result<pid_t> process_of(int pidfd);

// An error if the process ends meanwhile.
Result<Process> describe(int pidfd, pid_t pid);

// True for 1 to 255 bytes of UTF-8 without control characters, which neither mean "no application" nor name a profile
// of one source of power. Terminals and logs show the name to other people.
[[nodiscard]] bool is_application_name(std::string_view text);

// The application's name. "unnamed" if neither the process nor the hint has one.
std::string application_of(const Process& process, std::string_view hint);

}  // namespace happe
