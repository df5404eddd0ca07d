// SPDX-License-Identifier: GPL-2.0-or-later
// The state in which HAPPE found the machine. A file holds it from before the first write until HAPPE has restored
// everything, so that it survives a crash (docs/daemon.md, "Restoring the machine").
#pragma once

#include "governor/cpufreq/cpufreq.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// A policy as HAPPE found it, and HAPPE's settings for it.
struct FoundPolicy {
    PolicyId id;
    CpufreqSettings found;  // max is kNoLimit if the file showed the highest frequency
    Tunables tunables;      // of found.governor
    std::string governor;   // HAPPE's governor; empty if HAPPE leaves the governor unchanged
    std::string epp;        // HAPPE's energy performance preference; empty if HAPPE leaves it unchanged
    std::string found_epp;  // the preference that HAPPE replaced
    bool capped = false;    // HAPPE writes scaling_max_freq, never above found.max, the newest limit by others

    // The value that scaling_max_freq showed in place of HAPPE's cap, until HAPPE knows whether a program wrote it or
    // the kernel limits the cap: docs/limits.md.
    std::optional<Khz> unknown_max;
    bool operator==(const FoundPolicy&) const = default;
};

using FoundState = std::vector<FoundPolicy>;  // ascending ids

// The document "happe-found/1". Reading is strict; an error names the field.
[[nodiscard]] std::string write_found(const FoundState& state);
[[nodiscard]] Result<FoundState> read_found(std::string_view text);

// Writes the file completely or not at all. It is on the disk when this returns, with mode 0600. Removes the file if
// the state is empty.
[[nodiscard]] Status save_found(const std::filesystem::path& path, const FoundState& state);
[[nodiscard]] Result<FoundState> load_found(const std::filesystem::path& path);  // without a file: empty

// Finds out whether a program or the kernel set a limit. happed writes this value in its place. If a program wrote the
// limit, the file then shows this value; otherwise the kernel's limit remains. The kernel rounds a maximum down to the
// driver's table (cpufreq_set_policy() in drivers/cpufreq/cpufreq.c, Linux 5.15 and later), so this is the table's next
// entry. Without a table it is 1 kHz more.
[[nodiscard]] Khz probe_of(Khz limit, PolicyId policy, const Cpufreq& cpufreq);

// True if the policy still has HAPPE's governor or cap. Otherwise another program has changed it, and HAPPE leaves it
// alone.
[[nodiscard]] bool is_ours(const FoundPolicy& policy, const CpufreqSettings& now, const Cpufreq& cpufreq);

// Restores all that still has HAPPE's settings. Writes only values that differ from the original ones, and reads the
// results. `state` keeps the rest: policies that are off line (no error), policies that refuse (an error), and
// preferences that refuse (an error) or that the governor performance hides (no error).
[[nodiscard]] Status give_back(FoundState& state, Cpufreq& cpufreq);

// The action of `happed --restore`: restores the state in the file, and removes the file when it is empty. Does
// nothing without a file.
[[nodiscard]] Status restore_found(const std::filesystem::path& path, Cpufreq& cpufreq);

// Nobody restores the preferences any more, because another program sets them now. The second changes the file.
void forget_epp(FoundState& state);
[[nodiscard]] Status forget_epp(const std::filesystem::path& path);

}  // namespace happe
