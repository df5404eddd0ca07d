// SPDX-License-Identifier: GPL-2.0-or-later
// The paper's study, and a replayed trace beside reading its JSON alone.
#include "governor/sim/replay.h"
#include "governor/sim/study.h"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace happe {
namespace {

// The 384 runs of section A.5: 24 participants, four applications, four conditions, 120 s each.
void paper_study(benchmark::State& state) {
    StudyPlan plan = paper_plan();
    plan.conditions.pop_back();  // the oracle
    std::size_t runs = 0;
    for (auto _ : state) {
        runs = run_study(plan, 1, {}).size();
    }
    state.counters["runs"] = static_cast<double>(runs);
}

std::string hour_of_trace() {
    std::ostringstream text;
    text << R"({"format":"happe-trace/1","mode":"paper","feedback":"next-sample","period_us":1000000,)"
         << R"("ladders_khz":{"0":[800000,1200000,1600000,2200000,2300000]},"uafp":[]})" << "\n";
    for (int second = 1; second <= 3'600; ++second) {
        text << R"({"t_us":)" << second << R"(000000,"user":"alice","app":"torcs","policies":[{"id":0,"util_ppm":[)"
             << second * 7'919 % 1'000'001 << R"(,310000]}],"keys":[]})" << "\n";
    }
    return text.str();
}

void replay_hour(benchmark::State& state) {
    const std::string text = hour_of_trace();
    for (auto _ : state) {
        std::istringstream trace(text);
        std::ostringstream decisions;
        benchmark::DoNotOptimize(replay(trace, "bench", decisions));
    }
}

void parse_hour_baseline(benchmark::State& state) {
    const std::string text = hour_of_trace();
    for (auto _ : state) {
        std::istringstream trace(text);
        for (std::string line; std::getline(trace, line);) {
            benchmark::DoNotOptimize(nlohmann::json::parse(line));
        }
    }
}

BENCHMARK(paper_study)->Unit(benchmark::kMillisecond);
BENCHMARK(replay_hour)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_hour_baseline)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace happe
