// SPDX-License-Identifier: GPL-2.0-or-later
// Which application a process is: docs/daemon.md, "Who is served".
#pragma once

#include "governor/core/result.h"

#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace happe {

// What can be known of a process without any right over it: /proc/PID/{status,cmdline,comm} and its systemd unit.
struct Process {
    pid_t pid = 0;
    uid_t uid = 0;          // the effective one
    std::string program;    // the last part of argv[0], else the kernel's comm; empty if there is neither
    std::string unit;       // of the user's systemd, unescaped as systemd gives it; empty if in none
    std::string unit_runs;  // the program of that unit's first process; empty if unknown
};

// The process a pidfd stands for, in this process's pid namespace. An error if it is no pidfd or its process has ended.
Result<pid_t> process_of(int pidfd);

// Of a process that may end at any moment: an error if it did while being looked at.
Result<Process> describe(int pidfd, pid_t pid);

// The id in a user's unit, unescaped, and whether the unit alone decides (Flatpak, snap). Nothing for a unit that names
// no application. "app[-LAUNCHER]-ID-RANDOM.scope", "app[-LAUNCHER]-ID[@RANDOM].service":
// https://systemd.io/DESKTOP_ENVIRONMENTS
struct UnitName {
    std::string application;
    bool decides = false;
    bool operator==(const UnitName&) const = default;
};
std::optional<UnitName> application_of_unit(std::string_view unit);

// The application's name, 1 to 255 bytes of UTF-8 without control characters, as in profiles.
std::string application_of(const Process& process, std::string_view hint);

}  // namespace happe
