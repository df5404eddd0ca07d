// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/cpufreq.h"

#include <fmt/format.h>
#include <algorithm>

namespace happe {
namespace {

constexpr std::uint32_t kRound = 100'000;  // kHz: the step of drivers without a table

// A driver with its own governors lists exactly these two. Any other driver lists the loaded governors, and the kernel
// loads others when a program names them (show_scaling_available_governors and cpufreq_parse_governor in
// drivers/cpufreq/cpufreq.c).
bool can_have_userspace(const CpufreqPolicy& policy) {
    auto governors = policy.governors;
    std::ranges::sort(governors);
    return !governors.empty() && governors != std::vector<std::string>{"performance", "powersave"};
}

// Even steps from the lowest to the highest. Rounds those between to 100 MHz unless two would become equal.
std::vector<Khz> even_steps(Khz lowest, Khz highest, std::size_t most) {
    const std::uint32_t span = highest.value - lowest.value;
    const auto gaps = static_cast<std::uint32_t>(std::clamp<std::size_t>(span / kRound, 1, most - 1));
    std::vector<Khz> steps{lowest};
    for (std::uint32_t i = 1; i <= gaps; ++i) {
        const auto even = static_cast<std::uint32_t>(lowest.value + std::uint64_t{span} * i / gaps);
        const Khz step = i == gaps ? highest : Khz{(even + kRound / 2) / kRound * kRound};
        if (step > steps.back() && step <= highest) {
            steps.push_back(step);
        }
    }
    return steps;
}

}  // namespace

Backend backend_of(std::span<const CpufreqPolicy> policies) {
    return std::ranges::all_of(policies, can_have_userspace) ? Backend::Setspeed : Backend::Cap;
}

Result<Ladder> make_ladder(const CpufreqPolicy& policy, const std::map<Khz, Khz>& speeds, std::size_t even) {
    const auto steps =
        policy.frequencies.empty() ? even_steps(policy.lowest, policy.highest, even) : policy.frequencies;
    std::vector<Khz> real;
    for (const Khz step : steps) {
        const auto found = speeds.find(step);
        real.push_back(found == speeds.end() ? step : found->second);
    }
    const auto ladder = Ladder::from(steps, real);
    if (!ladder) {
        return failure(fmt::format(
            "policy{}: its {} frequencies are not a ladder: there must be 1 to {}, and their real speeds must ascend",
            policy.id.value, steps.size(), Ladder::kMaxSteps));
    }
    return *ladder;
}

}  // namespace happe
