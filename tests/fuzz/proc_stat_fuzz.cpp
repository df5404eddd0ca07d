// SPDX-License-Identifier: GPL-2.0-or-later
// Any text as /proc/stat. Its halves are also taken for two moments of one machine: whatever they hold, a utilisation
// is a share.
#include "governor/system/proc_stat.h"

#include <algorithm>
#include <cstdlib>

namespace {

using Cpus = std::vector<std::optional<happe::CpuTicks>>;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

// An error names a line; success means that there is a CPU and none has an impossible number.
void parse(std::string_view text, Cpus& cpus) {
    const happe::Status parsed = happe::ProcStat::parse(text, cpus);
    require(parsed || parsed.error().message.starts_with("line "));
    require(cpus.size() <= happe::ProcStat::kHighestCpu + 1U);
    require(!parsed || (!cpus.empty() && cpus.back()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Cpus before;
    Cpus now;
    parse(text, now);
    parse(text.substr(0, size / 2), before);
    parse(text.substr(size / 2), now);
    for (std::size_t cpu = 0; cpu < std::min(before.size(), now.size()); ++cpu) {
        if (before[cpu] && now[cpu]) {
            const auto share = happe::ProcStat::utilisation(*before[cpu], *now[cpu]);
            require(!share || *share <= happe::kOne);
            require(!happe::ProcStat::utilisation(*now[cpu], *now[cpu]));
        }
    }
    return 0;
}
