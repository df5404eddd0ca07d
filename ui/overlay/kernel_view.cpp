// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/kernel_view.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace happe::ui {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

// In ticks of 10 ms. Fewer ticks make the shares too coarse: three ticks give thirds.
constexpr std::uint64_t kLeastTime = 20;

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

// proc(5): "cpuN user nice system idle iowait irq softirq steal guest ..." in ticks; user already contains guest.
// Waiting for input and output is not work.
std::map<std::uint32_t, KernelView::Times> KernelView::times() const {
    std::map<std::uint32_t, Times> found;
    std::ifstream stat(root_ / "proc/stat");
    for (std::string line; std::getline(stat, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (!name.starts_with("cpu") || name.size() == 3) {
            continue;
        }
        Times times;
        std::uint64_t ticks = 0;
        for (int column = 0; column < 8 && words >> ticks; ++column) {
            times.all += ticks;
            times.busy += column == 3 || column == 4 ? 0 : ticks;
        }
        found.emplace(static_cast<std::uint32_t>(std::strtoul(name.c_str() + 3, nullptr, 10)), times);
    }
    return found;
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
void KernelView::renew(Load& load, const Times& now) {
    const Times& before = load.until;
    const bool forward = now.all >= before.all && now.busy >= before.busy;
    if (forward && now.all - before.all < kLeastTime) {
        return;
    }
    if (forward) {
        const std::uint64_t ppm = (now.busy - before.busy) * kMillion / (now.all - before.all);
        load.ppm = static_cast<std::uint32_t>(std::min(kMillion, ppm));
    }
    load.until = now;
}

void KernelView::look(DaemonState& governor) {
    const auto now = times();
    for (const DaemonState::Policy& policy : governor.policies) {
        const std::uint32_t shown = frequency(policy.id);
        if (shown == 0) {
            continue;
        }
        const std::uint32_t khz = listed(shown, policy, governor);
        std::uint32_t busiest = 0;
        for (const std::uint32_t cpu : policy.cpus) {
            const auto at = now.find(cpu);
            if (at != now.end()) {
                Load& load = loads_[cpu];
                renew(load, at->second);
                busiest = std::max(busiest, load.ppm);
            }
        }
        const auto before = last_khz_.try_emplace(policy.id, khz).first;
        governor.samples[policy.id] = {std::exchange(before->second, khz), busiest};
        governor.target_khz[policy.id] = khz;
    }
}

}  // namespace happe::ui
