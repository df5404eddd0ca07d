// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/cpufreq_ladder.h"

#include <fmt/format.h>
#include <algorithm>

namespace happe {
namespace {

constexpr std::uint32_t kRound = 100'000;  // kHz: what drivers without a table step by

// A driver with governors of its own lists exactly these two; any other lists those that are loaded just now, and the
// kernel loads more when they are named (show_scaling_available_governors and cpufreq_parse_governor in
// drivers/cpufreq/cpufreq.c).
bool can_have_userspace(const CpufreqPolicy& policy) {
    auto governors = policy.governors;
    std::ranges::sort(governors);
    return !governors.empty() && governors != std::vector<std::string>{"performance", "powersave"};
}

// From the lowest to the highest, what lies between rounded to 100 MHz where that keeps them apart.
std::vector<Khz> even_steps(Khz lowest, Khz highest) {
    const std::uint32_t span = highest.value - lowest.value;
    const auto gaps = static_cast<std::uint32_t>(std::clamp<std::size_t>(span / kRound, 1, kEvenSteps - 1));
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

Result<Ladder> make_ladder(const CpufreqPolicy& policy, const std::map<Khz, Khz>& speeds) {
    const auto steps = policy.frequencies.empty() ? even_steps(policy.lowest, policy.highest) : policy.frequencies;
    std::vector<Khz> real;
    for (const Khz step : steps) {
        const auto found = speeds.find(step);
        real.push_back(found == speeds.end() ? step : found->second);
    }
    const auto ladder = Ladder::from(steps, real);
    if (!ladder) {
        return failure(
            fmt::format("policy{}: its {} frequencies are no ladder: 1 to {}, their real speeds ascending like them",
                        policy.id.value, steps.size(), Ladder::kMaxSteps));
    }
    return *ladder;
}

}  // namespace happe
