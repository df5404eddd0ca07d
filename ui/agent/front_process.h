// SPDX-License-Identifier: GPL-2.0-or-later
// Identifies a process by a pidfd, because another process may get its number after it has ended.
#pragma once

#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace happe::ui {

using BootTime = std::chrono::duration<std::int64_t, std::centi>;  // since the machine started, as in /proc

struct Process {
    FileDescriptor pidfd;
    pid_t pid = 0;
    BootTime started{};

    [[nodiscard]] bool is(const Process& other) const { return pid == other.pid && started == other.started; }
};

[[nodiscard]] BootTime boot_time_now();

// Field 22 of /proc/PID/stat, for any program name; none if the text is not such a line.
[[nodiscard]] std::optional<BootTime> start_in_stat(std::string_view stat);

// The process of a window that was reported at time `said`. An error if it has ended; a process that started later has
// only reused its number.
[[nodiscard]] tl::expected<Process, std::string> open_process(pid_t pid, BootTime said);

}  // namespace happe::ui
