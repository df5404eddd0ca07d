// SPDX-License-Identifier: GPL-2.0-or-later
// What HAPPE found on the machine, kept in a file from before the first write until it has been given back, so that it
// can be given back after a crash too (docs/daemon.md, "What is found is given back").
#pragma once

#include "governor/cpufreq/cpufreq.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// One policy as it was found, and what HAPPE makes of it.
struct FoundPolicy {
    PolicyId id;
    CpufreqSettings found;
    Tunables tunables;     // of found.governor
    std::string governor;  // the one HAPPE sets; empty if it leaves that alone
    bool capped = false;   // HAPPE writes scaling_max_freq, never above the one found
    bool operator==(const FoundPolicy&) const = default;
};

using FoundState = std::vector<FoundPolicy>;  // ascending ids

// The document "happe-found/1". Reading is strict; an error names the field.
[[nodiscard]] std::string write_found(const FoundState& state);
[[nodiscard]] Result<FoundState> read_found(std::string_view text);

// Whole or not at all, on the disk when this returns, mode 0600. With nothing found there is no file.
[[nodiscard]] Status save_found(const std::filesystem::path& path, const FoundState& state);
[[nodiscard]] Result<FoundState> load_found(const std::filesystem::path& path);  // no file: nothing found

// Whether it is still as HAPPE makes it. Otherwise it belongs to whoever changed it, and is left alone.
[[nodiscard]] bool is_ours(const FoundPolicy& policy, const CpufreqSettings& now);

// Gives back what is still ours, writing only what differs from what was found and reading what came of it. Keeps in
// `state` what couldn't be given back: policies that are off line, which is no error, and those that were refused,
// which is.
[[nodiscard]] Status give_back(FoundState& state, Cpufreq& cpufreq);

// What `happed --restore` does: gives back what the file says was found, and removes the file when nothing is left in
// it. Does nothing where nothing was found.
[[nodiscard]] Status restore_found(const std::filesystem::path& path, Cpufreq& cpufreq);

}  // namespace happe
