// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/indicator/kernel_view.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace happe::ui {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

}  // namespace

// proc(5): "cpuN user nice system idle iowait irq softirq steal guest ..." in ticks; guest is in user already. Waiting
// for input and output is no work.
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

// 0 if the kernel does not show it.
std::uint32_t KernelView::frequency(std::uint32_t policy) const {
    std::uint32_t khz = 0;
    std::ifstream(root_ / "sys/devices/system/cpu/cpufreq" / ("policy" + std::to_string(policy)) /
                  "scaling_cur_freq") >>
        khz;
    return khz;
}

// The kernel's time spent waiting may shrink, and with it all time.
std::uint64_t KernelView::ppm(const Times& before, const Times& now) {
    const bool forward = now.all > before.all && now.busy >= before.busy;
    return forward ? std::min(kMillion, (now.busy - before.busy) * kMillion / (now.all - before.all)) : 0;
}

void KernelView::look(Governor& governor) {
    const auto now = times();
    for (const Governor::Policy& policy : governor.policies) {
        const std::uint32_t khz = frequency(policy.id);
        if (khz == 0) {
            continue;
        }
        std::uint64_t busiest = 0;
        for (const std::uint32_t cpu : policy.cpus) {
            const auto at = now.find(cpu);
            if (at != now.end()) {
                busiest = std::max(busiest, ppm(last_times_[cpu], at->second));
            }
        }
        const auto before = last_khz_.try_emplace(policy.id, khz).first;
        governor.samples[policy.id] = {std::exchange(before->second, khz), static_cast<std::uint32_t>(busiest)};
        governor.target_khz[policy.id] = khz;
    }
    last_times_ = now;
}

}  // namespace happe::ui
