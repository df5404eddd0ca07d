// SPDX-License-Identifier: GPL-2.0-or-later
// A process by what does not become another's: its number may, once it has ended.
#pragma once

#include "ui/agent/descriptor.h"

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
    Descriptor pidfd;
    pid_t pid = 0;
    BootTime started{};

    [[nodiscard]] bool is(const Process& other) const { return pid == other.pid && started == other.started; }
};

[[nodiscard]] BootTime boot_time_now();

// Field 22 of /proc/PID/stat, whatever the program is called; none if the text is no such line.
[[nodiscard]] std::optional<BootTime> start_in_stat(std::string_view stat);

// The process to which a window belongs, as reported at this time. An error: it has ended, and if another one has its
// number now, that one started later.
[[nodiscard]] tl::expected<Process, std::string> open_process(pid_t pid, BootTime said);

}  // namespace happe::ui
