// SPDX-License-Identifier: GPL-2.0-or-later
// What a step of the algorithm costs, beside the least any governor must do: find the busiest policy and walk its
// ladder.
#include "governor/core/governor.h"

#include <benchmark/benchmark.h>
#include <array>

namespace happe {
namespace {

constexpr std::array kT61{Khz{800'000}, Khz{1'200'000}, Khz{1'600'000}, Khz{2'200'000}, Khz{2'300'000}};

std::vector<PolicySample> samples(std::int64_t policies) {
    std::vector<PolicySample> result;
    for (std::int64_t id = 0; id < policies; ++id) {
        const auto number = static_cast<std::uint16_t>(id);
        result.push_back({PolicyId{number}, kT61.at(number % kT61.size()), Ppm{number * 3'907U % 1'000'001U}});
    }
    return result;
}

void core_step(benchmark::State& state) {
    std::vector<PolicyLadder> ladders;
    for (std::int64_t id = 0; id < state.range(0); ++id) {
        ladders.push_back({PolicyId{static_cast<std::uint16_t>(id)}, *Ladder::from(kT61)});
    }
    Governor governor(ladders, {});
    Uafp uafp = governor.untaught();
    const auto seen = samples(state.range(0));
    MonoTime now;
    for (auto _ : state) {
        now += std::chrono::seconds(1);
        const std::array presses{
            Press{now.time_since_epoch().count() % 2'000'000 == 0 ? Key::Power : Key::Performance, now}};
        benchmark::DoNotOptimize(governor.step({seen, presses}, &uafp));
    }
    state.SetComplexityN(state.range(0));
}

void table_lookup_baseline(benchmark::State& state) {
    const Ladder ladder = *Ladder::from(kT61);
    const std::vector<Khz> map(10, kT61.at(2));
    const auto seen = samples(state.range(0));
    for (auto _ : state) {
        for (const PolicySample& sample : seen) {
            const auto level = std::uint64_t{sample.utilisation.value} * sample.current->value * 10 /
                               (1'000'000ULL * ladder.top().value);
            benchmark::DoNotOptimize(ladder.at_or_above(map[level < 9 ? level : 9], ladder.top()));
        }
    }
    state.SetComplexityN(state.range(0));
}

BENCHMARK(core_step)->RangeMultiplier(4)->Range(1, 256)->Complexity(benchmark::oN);
BENCHMARK(table_lookup_baseline)->RangeMultiplier(4)->Range(1, 256);

}  // namespace
}  // namespace happe
