// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/kernel_view.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace happe::ui {
namespace {

// In ticks of 10 ms. Fewer ticks make the shares too coarse: three ticks give thirds.
constexpr std::uint64_t kLeastTime = 20;

std::uint64_t all(const CpuTicks& ticks) {
    return ticks.busy + ticks.idle + ticks.iowait;
}

// Keeps a listed frequency. Converts a measured frequency into the entry with the nearest real speed.
std::uint32_t listed(std::uint32_t khz, const DaemonState::Policy& policy, const DaemonState& governor) {
    const auto& ladder = policy.ladder_khz;
    if (ladder.empty() || std::ranges::binary_search(ladder, khz)) {
        return khz;
    }
    return *std::ranges::min_element(ladder, {}, [&](std::uint32_t entry) {
        return std::abs(std::int64_t{governor.speed(entry)} - std::int64_t{khz});
    });
}

}  // namespace

// Empty if the kernel shows no such file.
std::vector<std::optional<CpuTicks>> KernelView::ticks() const {
    std::ifstream file(root_ / "proc/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::optional<CpuTicks>> found;
    return ProcStat::parse(text, found) ? found : std::vector<std::optional<CpuTicks>>();
}

// The last request to the governor userspace; under another governor ("<unsupported>"), the frequency that the driver
// or the hardware reports. 0 if the kernel does not show it.
std::uint32_t KernelView::frequency(std::uint32_t policy) const {
    const auto folder = root_ / "sys/devices/system/cpu/cpufreq" / ("policy" + std::to_string(policy));
    std::uint32_t khz = 0;
    for (const char* const file : {"scaling_setspeed", "scaling_cur_freq"}) {
        if (std::ifstream(folder / file) >> khz) {
            return khz;
        }
    }
    return 0;
}

// The kernel's waiting time, and so the total, may go back. Such a sample means nothing.
void KernelView::renew(Load& load, const CpuTicks& now) {
    const CpuTicks& before = load.until;
    const bool forward = all(now) >= all(before) && now.busy >= before.busy;
    if (forward && all(now) - all(before) < kLeastTime) {
        return;
    }
    if (forward) {
        load.ppm = ProcStat::utilisation(before, now).value_or(Ppm{}).value;
    }
    load.until = now;
}

void KernelView::look(DaemonState& governor) {
    const auto now = ticks();
    for (const DaemonState::Policy& policy : governor.policies) {
        const std::uint32_t shown = frequency(policy.id);
        if (shown == 0) {
            continue;
        }
        const std::uint32_t khz = listed(shown, policy, governor);
        std::uint32_t busiest = 0;
        for (const std::uint32_t cpu : policy.cpus) {
            if (cpu < now.size() && now[cpu]) {
                Load& load = loads_[cpu];
                renew(load, *now[cpu]);
                busiest = std::max(busiest, load.ppm);
            }
        }
        const auto before = last_khz_.try_emplace(policy.id, khz).first;
        governor.samples[policy.id] = {std::exchange(before->second, khz), busiest};
        governor.target_khz[policy.id] = khz;
    }
}

}  // namespace happe::ui
