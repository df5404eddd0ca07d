// SPDX-License-Identifier: GPL-2.0-or-later
// This machine's utilisation, from /proc/stat: the kernel's Documentation/filesystems/proc.rst, "Miscellaneous kernel
// statistics in /proc/stat".
#pragma once

#include "governor/core/utilisation_source.h"
#include "governor/system/file_descriptor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// What one CPU has done since boot, in ticks of USER_HZ. Each may wrap; idle and iowait may also go back a little.
struct CpuTicks {
    std::uint64_t busy = 0;  // user + nice + system + irq + softirq + steal; time of guests is within user and nice
    std::uint64_t idle = 0;
    std::uint64_t iowait = 0;
    bool operator==(const CpuTicks&) const = default;
};

class ProcStat final : public UtilisationSource {
public:
    static constexpr unsigned kHighestCpu = 8191;  // the greatest NR_CPUS a kernel is built with

    // Opened at the first sample() and kept open.
    explicit ProcStat(std::string path = "/proc/stat") : path_(std::move(path)) {}

    // Allocates only when there are more CPUs than ever before, or to say what is wrong. After an error the next sample
    // goes back to the last good one.
    [[nodiscard]] Result<std::span<const std::optional<Ppm>>> sample() override;

    // Reads the cpuN lines, of whole lines, by CPU number; nothing for a number that is missing (that CPU is off line).
    // Lines after them are ignored. An error says "line N: message".
    [[nodiscard]] static Status parse(std::string_view text, std::vector<std::optional<CpuTicks>>& cpus);

    // The share of the time between that was busy, rounded down; nothing if no time has been counted.
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
