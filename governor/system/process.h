// SPDX-License-Identifier: GPL-2.0-or-later
// Finds out which application a process belongs to: docs/daemon.md, "Who is served".
#pragma once

#include "governor/core/result.h"

#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace happe {

// The public facts about a process: /proc/PID/{status,cmdline,comm} and its systemd unit.
struct Process {
    pid_t pid = 0;
    uid_t uid = 0;          // the effective one
    std::string program;    // the last part of argv[0], or the kernel's comm; empty if both are missing
    std::string unit;       // its unit of the user's systemd, unescaped; empty if it has none
    std::string unit_runs;  // the program of that unit's first process; empty if unknown
};

// The pidfd's process, in our pid namespace. An error if this is not a pidfd or its process has ended.
Result<pid_t> process_of(int pidfd);

// An error if the process ends meanwhile.
Result<Process> describe(int pidfd, pid_t pid);

// The application's id in the name of a user's unit, unescaped, and whether only the unit decides (Flatpak, snap).
// Empty if the unit names no application. "app[-LAUNCHER]-ID-RANDOM.scope", "app[-LAUNCHER]-ID[@RANDOM].service":
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
