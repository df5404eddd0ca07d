// SPDX-License-Identifier: GPL-2.0-or-later
// Measures the cost of a step of the core in mode `extended`, compared with mode `paper` in the same run.
//   usage: happe-bench-step [STEPS]
// Both modes take the same observations in turns, so that other work on the host affects both. Prints the nanoseconds
// of CPU time of a step in each mode, their ratio, and how often a step allocated memory. Judges nothing.
#include "governor/core/allocations_fixture.h"
#include "governor/core/governor.h"
#include "governor/core/splitmix.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

using namespace happe;

constexpr std::size_t kRounds = 51;
constexpr std::size_t kPeriods = 2'000;  // periods of a second, for each round of each mode

double cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Period {
    std::vector<Ppm> utilisation;  // one CPU for each policy
    std::vector<PolicySample> samples;
    std::optional<Key> key;
};

// Random loads, and a press about every quarter of an hour, with probes in between.
std::vector<Period> periods(std::size_t policies) {
    std::uint64_t random = 1;
    std::vector<Period> all(kPeriods);
    for (Period& period : all) {
        for (std::size_t policy = 0; policy < policies; ++policy) {
            period.utilisation.push_back(Ppm{static_cast<std::uint32_t>(splitmix64(random) % (kOne.value + 1U))});
        }
        for (std::size_t id = 0; id < policies; ++id) {
            period.samples.push_back({PolicyId{static_cast<std::uint16_t>(id)}, {}, {}, {&period.utilisation[id], 1}});
        }
        if (splitmix64(random) % 900 == 0) {
            period.key = splitmix64(random) % 3 == 0 ? Key::Power : Key::Performance;
        }
    }
    return all;
}

Ladder ladder() {
    std::vector<Khz> khz(32);
    std::uint32_t last = 400'000;
    for (Khz& each : khz) {
        each = Khz{last += 137'500};
    }
    return *Ladder::from(khz);
}

std::vector<PolicyLadder> ladders(std::size_t policies) {
    std::vector<PolicyLadder> all;
    for (std::size_t id = 0; id < policies; ++id) {
        all.push_back({PolicyId{static_cast<std::uint16_t>(id)}, ladder()});
    }
    return all;
}

// A person who is always there, at a machine that sets each decision.
class Laptop {
public:
    Laptop(std::size_t policies, Settings settings)
        : governor_(ladders(policies), {}, settings), uafp_(governor_.untaught()) {}

    // The nanoseconds of each step.
    double live(const std::vector<Period>& all) {
        const std::size_t before = allocations;
        const double begin = cpu_ns();
        for (const Period& period : all) {
            now_ += std::chrono::seconds{1};
            const Decision decision = governor_.step(
                {.policies = period.samples, .key = period.key, .at = now_, .present = true}, &uafp_, &patience_);
            probes += decision.probe ? 1 : 0;
        }
        const double each = (cpu_ns() - begin) / static_cast<double>(all.size());
        allocated += allocations - before;
        return each;
    }

    std::size_t allocated = 0;
    std::size_t probes = 0;

private:
    Governor governor_;
    Uafp uafp_;
    Patience patience_;
    MonoTime now_;
};

double median(std::vector<double> values) {
    std::ranges::nth_element(values, values.begin() + kRounds / 2);
    return values[kRounds / 2];
}

void measure(std::size_t policies) {
    const std::vector<Period> all = periods(policies);
    Laptop paper(policies, {});
    Laptop extended(policies, kExtended);
    std::vector<double> paper_ns;
    std::vector<double> extended_ns;
    for (std::size_t round = 0; round < kRounds; ++round) {
        paper_ns.push_back(paper.live(all));
        extended_ns.push_back(extended.live(all));
    }
    const double base = median(paper_ns);
    const double more = median(extended_ns);
    std::printf("%8zu %9.0f %11.0f %6.2f %7zu %12zu\n", policies, base, more, more / base, extended.probes,
                paper.allocated + extended.allocated);
}

}  // namespace

int main() {
    std::puts("policies  paper ns extended ns  ratio  probes  allocations");
    for (const std::size_t policies : {std::size_t{1}, std::size_t{8}, std::size_t{256}}) {
        measure(policies);
    }
    return 0;
}
