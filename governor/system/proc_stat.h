// SPDX-License-Identifier: GPL-2.0-or-later
// This machine's utilisation, from /proc/stat: the kernel's Documentation/filesystems/proc.rst, "Miscellaneous kernel
// statistics in /proc/stat".
#pragma once

#include "governor/core/frequency_control.h"
#include "governor/system/file_descriptor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// One CPU's times since boot, in ticks of USER_HZ. Each may wrap; idle and iowait may also go back a little.
struct CpuTicks {
    std::uint64_t busy = 0;  // user + nice + system + irq + softirq + steal; time of guests is within user and nice
    std::uint64_t idle = 0;
    std::uint64_t iowait = 0;
    bool operator==(const CpuTicks&) const = default;
};

class ProcStat final : public UtilisationSource {
public:
    static constexpr unsigned kHighestCpu = 8191;  // the greatest NR_CPUS a kernel is built with

    // Opens the file at the first sample() and keeps it open.
    explicit ProcStat(std::string path = "/proc/stat") : path_(std::move(path)) {}

    // Allocates memory only for more CPUs than ever before, and for errors. After an error, the next sample covers the
    // time since the last good one.
    [[nodiscard]] Result<std::span<const std::optional<Ppm>>> sample() override;

    // Reads the cpuN lines of a text of whole lines, by CPU number. Empty for a missing number: that CPU is off line.
    // Ignores lines after them. An error says "line N: message".
    [[nodiscard]] static Status parse(std::string_view text, std::vector<std::optional<CpuTicks>>& cpus);

    // The busy share of the time between two counts, rounded down; empty if no time has passed.
    [[nodiscard]] static std::optional<Ppm> utilisation(const CpuTicks& before, const CpuTicks& now);

private:
    Status read();

    std::string path_;
    FileDescriptor file_;
    std::string buffer_;
    std::size_t length_ = 0;  // of the text in the buffer
    std::vector<std::optional<CpuTicks>> before_;
    std::vector<std::optional<CpuTicks>> now_;
    std::vector<std::optional<Ppm>> utilisation_;
};

}  // namespace happe
