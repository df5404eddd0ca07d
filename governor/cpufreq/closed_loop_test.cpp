// SPDX-License-Identifier: GPL-2.0-or-later
// The loop on today's machines: busy threads that the scheduler moves, a driver that chooses below a cap, a kernel that
// shows no speed of an idle CPU, and a person who presses keys. Prints the table of docs/explanation/algorithm.md.
#include "governor/core/fakes.h"
#include "governor/core/loop.h"
#include "governor/cpufreq/cpufreq_fake.h"

#include <fmt/format.h>
#include <array>
#include <functional>
#include <numeric>
#include <string>

namespace happe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kSlice = milliseconds{10};  // the kernel's unit of CPU time
constexpr Micros kFresh = milliseconds{20};  // how long a measured speed counts (MAX_SAMPLE_AGE, x86)
constexpr int kMostPresses = 24;

// The CPU of a thread, by the time and the number of CPUs.
using Motion = std::function<std::size_t(Micros, std::size_t)>;

// Moves to a random CPU after 10 to 320 ms.
std::size_t anywhere(Micros time, std::size_t cpus) {
    std::uint32_t state = 1;
    std::size_t cpu = 0;
    for (Micros next{0}; next <= time;) {
        state = state * 1'664'525U + 1'013'904'223U;  // Numerical Recipes
        cpu = (state >> 8U) % cpus;
        next += milliseconds{10 * (1 + (state >> 16U) % 32)};
    }
    return cpu;
}

struct NamedMotion {
    const char* name;
    Motion cpu;
};
const std::array kMotions{
    NamedMotion{"pinned", [](Micros, std::size_t) -> std::size_t { return 0; }},
    NamedMotion{"pinned to the last", [](Micros, std::size_t cpus) { return cpus - 1; }},
    NamedMotion{"moved every second",
                [](Micros time, std::size_t cpus) {
                    return static_cast<std::size_t>((time + milliseconds{370}) / seconds{1}) % cpus;
                }},
    NamedMotion{
        "moved every 100 ms",
        [](Micros time, std::size_t cpus) { return static_cast<std::size_t>(time / milliseconds{100}) % cpus; }},
    NamedMotion{"left to a scheduler", anywhere},
};

struct Work {
    std::size_t threads = 1;
    double share = 1.0;         // the share of its CPU's time that a thread takes
    Khz fastest = kHighestKhz;  // the driver's top speed, whatever the cap
};

// A kernel with threads on its CPUs, and a person at it.
class Bench : public UtilisationSource, public KeySource {
public:
    explicit Bench(const std::vector<CpufreqPolicy>& policies, const Settings& algorithm = {}, bool together = true)
        : algorithm_(algorithm) {
        for (const CpufreqPolicy& policy : policies) {
            kernel_.add(policy, "powersave");
        }
        kernel_.modules = {"userspace"};
        focus_.whom = Served{"alice", "torcs"};
        control_ = *CpufreqControl::open(kernel_, {.found = directory_.path() / "found.json", .speeds = {}});
        domains_ = domains_of(control_->policies(), together);
        cpus_.resize(policies.size());
        begin();
    }

    Result<std::span<const std::optional<Ppm>>> sample() override { return std::span<const std::optional<Ppm>>(cpus_); }
    void take(std::vector<Press>& presses) override { presses = std::exchange(presses_, {}); }

    void second(const Motion& motion, const Work& work, std::optional<Key> key = {}) {
        if (key) {
            presses_.push_back({*key, now_ + milliseconds{500}});
        }
        std::vector<double> busy(cpus_.size());
        for (Micros slice{0}; slice < seconds{1}; slice += kSlice, now_ += kSlice) {
            for (std::size_t thread = 0; thread < work.threads; ++thread) {
                const std::size_t apart = thread * cpus_.size() / work.threads;
                const std::size_t cpu = (motion(now_.time_since_epoch(), cpus_.size()) + apart) % cpus_.size();
                busy[cpu] += work.share / (seconds{1} / kSlice);
                seen_[cpu] = now_;
            }
        }
        for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
            cpus_[cpu] = Ppm{static_cast<std::uint32_t>(std::min(1.0, busy[cpu]) * kOne.value + 0.5)};
            fake::Kernel::Policy& policy = kernel_.machine.at(control_->policies()[cpu].id);
            const bool fresh = seen_.contains(cpu) && now_ - seen_[cpu] <= kFresh;
            policy.runs_at = fresh ? std::min(kernel_.max(policy), work.fastest) : kernel_.min(policy);
        }
        EXPECT_TRUE(control_->keep_up(now_));
        loop_->turn(now_);
    }

    void seconds_of(int count, const Motion& motion, const Work& work) {
        for (int second = 0; second < count; ++second) {
            this->second(motion, work);
        }
    }

    // Seconds of one busy thread until the first CPU has this frequency.
    int seconds_to(Khz khz, const Motion& motion) {
        int count = 0;
        for (; count < kMostPresses && set_on(PolicyId{0}) < khz; ++count) {
            second(motion, {});
        }
        return count;
    }

    // Presses until the threads run at the top. Returns the number of presses. In the first seconds the speed falls
    // from the found one to that of an untaught profile.
    int presses_to_the_top(const Motion& motion, const Work& work, int settles_s = 5) {
        seconds_of(settles_s, motion, work);
        int presses = 0;
        for (; presses < kMostPresses && !at_the_top(); ++presses) {
            second(motion, work, Key::Performance);
            second(motion, work);
        }
        return presses;
    }

    // True if every CPU that had work in the last second runs at the top.
    [[nodiscard]] bool at_the_top() const {
        return std::ranges::all_of(seen_, [this](const auto& seen) {
            const Policy& policy = control_->policies()[seen.first];
            return now_ - seen.second > seconds{1} || set_on(policy.id) == policy.ladder.top();
        });
    }
    [[nodiscard]] Khz set_on(PolicyId policy) const { return *control_->current(policy); }
    [[nodiscard]] const Lesson& lesson() const { return profiles_.lessons.back().second; }
    void teach(const Uafp& uafp) {
        profiles_.profiles.insert_or_assign(*focus_.whom, uafp);
        begin();
    }

private:
    void begin() {
        loop_.emplace(Ports{*this, *control_, *this, focus_, profiles_, watcher_},
                      LoopSettings{.algorithm = algorithm_, .domains = domains_}, now_);
    }

    Settings algorithm_;
    TemporaryDirectory directory_;
    fake::Kernel kernel_;
    std::unique_ptr<CpufreqControl> control_;
    Domains domains_;
    fake::Focus focus_;
    MemoryProfiles profiles_;
    fake::Watcher watcher_;
    std::vector<std::optional<Ppm>> cpus_;
    std::map<std::size_t, MonoTime> seen_;  // when a CPU last had work
    std::vector<Press> presses_;
    MonoTime now_;
    std::optional<Loop> loop_;
};

std::vector<CpufreqPolicy> cpus(std::size_t count, CpufreqPolicy like, std::uint16_t first = 0) {
    std::vector<CpufreqPolicy> policies;
    for (std::size_t i = 0; i < count; ++i) {
        like.id = PolicyId{static_cast<std::uint16_t>(first + i)};
        like.cpus = {static_cast<unsigned>(first + i)};
        policies.push_back(like);
    }
    return policies;
}

CpufreqPolicy active(const char* driver, Khz lowest, Khz highest) {
    return {.driver = driver, .governors = {"performance", "powersave"}, .lowest = lowest, .highest = highest};
}

std::vector<CpufreqPolicy> intel(std::size_t count = 8) {
    return cpus(count, active("intel_pstate", Khz{400'000}, Khz{4'700'000}));
}

std::vector<CpufreqPolicy> hybrid() {
    auto policies = cpus(4, active("intel_pstate", Khz{400'000}, Khz{4'700'000}));
    std::ranges::copy(cpus(8, active("intel_pstate", Khz{400'000}, Khz{3'400'000}), 4), std::back_inserter(policies));
    return policies;
}

struct NamedMachine {
    const char* name;
    std::vector<CpufreqPolicy> policies;
};
const std::array kMachines{
    NamedMachine{"intel_pstate, 8", intel()},
    NamedMachine{"hybrid, 4 + 8", hybrid()},
    NamedMachine{"amd-pstate-epp, 16", cpus(16, active("amd-pstate-epp", Khz{550'000}, Khz{5'100'000}))},
    NamedMachine{"acpi-cpufreq, 8", cpus(8, {.driver = "acpi-cpufreq",
                                             .governors = {"powersave", "userspace", "ondemand"},
                                             .frequencies = {kT61Khz.begin(), kT61Khz.end()},
                                             .lowest = kT61Khz.front(),
                                             .highest = kT61Khz.back()})},
};

struct NamedMode {
    const char* name;
    Settings algorithm;
    int settles_s;  // after so many seconds the level is that of the present work
};

// An owner's, except that a press at the top is a lesson, too, whose level a test can read.
Settings owners() {
    Settings settings = kExtended;
    settings.silent_top = false;
    return settings;
}
const std::array kModes{NamedMode{"paper", {}, 5}, NamedMode{"extended", owners(), 125}};

std::string so_many(int presses) {
    return presses < kMostPresses ? std::to_string(presses) : fmt::format("> {}", kMostPresses);
}

TEST(ClosedLoop, AThreadNeedsAsManyPressesWhereverItRunsAndHoweverOftenItMoves) {
    fmt::print("| mode | machine | busy threads | they are | presses to the top | each policy its own level |\n");
    fmt::print("| --- | --- | --- | --- | --- | --- |\n");
    const auto compare = [](const NamedMode& mode, const NamedMachine& machine, std::size_t threads) {
        int pinned = 0;
        for (const NamedMotion& motion : kMotions) {
            SCOPED_TRACE(fmt::format("{}, {}, {} threads, {}", mode.name, machine.name, threads, motion.name));
            Bench bench(machine.policies, mode.algorithm);
            const Work work{.threads = threads};
            const int presses = bench.presses_to_the_top(motion.cpu, work, mode.settles_s);
            Bench each(machine.policies, mode.algorithm, false);
            const int apart = each.presses_to_the_top(motion.cpu, work, mode.settles_s);
            fmt::print("| {} | {} | {} | {} | {} | {} |\n", mode.name, machine.name, threads, motion.name, presses,
                       so_many(apart));

            pinned = pinned == 0 ? presses : pinned;
            EXPECT_LE(presses, 10);
            EXPECT_NEAR(presses, pinned, 1);
            EXPECT_TRUE(bench.at_the_top());
            bench.second(motion.cpu, work, Key::Performance);
            EXPECT_EQ(bench.lesson().level, Level{9});
        }
    };
    for (const NamedMode& mode : kModes) {
        for (const NamedMachine& machine : kMachines) {
            compare(mode, machine, 1);
            compare(mode, machine, 2);
        }
    }
}

// In mode `extended` an untaught application starts at 60 % of the top, and a short calm does not slow it.
TEST(ClosedLoop, AnOwnersNewApplicationNeedsFewPressesAndIsBackAtOnceAfterAShortCalm) {
    const NamedMotion& pinned = kMotions.front();
    const NamedMode& mode = kModes.back();
    fmt::print("| machine | a new application starts at | presses to the top | seconds from idle to the top |\n");
    fmt::print("| --- | --- | --- | --- |\n");
    for (const NamedMachine& machine : kMachines) {
        SCOPED_TRACE(machine.name);
        const Khz top = machine.policies.front().highest;
        Bench bench(machine.policies, mode.algorithm);
        bench.seconds_of(mode.settles_s, pinned.cpu, {});
        const Khz start = bench.set_on(PolicyId{0});
        const int presses = bench.presses_to_the_top(pinned.cpu, {});
        bench.seconds_of(20, pinned.cpu, {.threads = 0});
        EXPECT_EQ(bench.set_on(PolicyId{0}), top) << "held during the calm";
        bench.seconds_of(mode.settles_s, pinned.cpu, {.threads = 0});
        const int climb = bench.seconds_to(top, pinned.cpu);
        fmt::print("| {} | {} MHz | {} | {} |\n", machine.name, start.value / 1000, presses, climb);
        EXPECT_GE(start.value, top.value / 2);
        EXPECT_LE(presses, 3);
        EXPECT_LE(climb, 5);
    }
}

// Presses in the first seconds teach the level of the work, so that a calm makes no more of them necessary.
TEST(ClosedLoop, WhatAnOwnerPressesAtFirstStaysAfterACalm) {
    const NamedMotion& pinned = kMotions.front();
    const NamedMode& mode = kModes.back();
    for (const NamedMachine& machine : kMachines) {
        SCOPED_TRACE(machine.name);
        Bench bench(machine.policies, mode.algorithm);
        const int at_first = bench.presses_to_the_top(pinned.cpu, {});
        bench.seconds_of(mode.settles_s, pinned.cpu, {.threads = 0});
        EXPECT_LE(at_first, 3);
        EXPECT_EQ(bench.presses_to_the_top(pinned.cpu, {}), 0);
        bench.seconds_of(mode.settles_s, pinned.cpu, {.threads = 0});
        EXPECT_LE(bench.seconds_to(machine.policies.front().highest, pinned.cpu), 5);
    }
}

TEST(ClosedLoop, BelowACapTheLevelIsThatOfTheSpeedAndTheFirstPressToSavePowerActs) {
    const Work work{.threads = 1, .share = 0.85, .fastest = Khz{1'200'000}};
    const auto press_below_the_cap = [&](const NamedMode& mode, const NamedMotion& motion) {
        SCOPED_TRACE(fmt::format("{}, {}", mode.name, motion.name));
        Bench bench(intel(), mode.algorithm);
        bench.teach(Uafp(Khz{4'700'000}));
        bench.seconds_of(2, motion.cpu, {});  // as fast as the new cap
        for (int second = 0; second < mode.settles_s + 15; ++second) {
            bench.second(motion.cpu, work);
            EXPECT_TRUE(bench.at_the_top());
        }
        bench.second(motion.cpu, work, Key::Power);
        EXPECT_EQ(bench.lesson().level, Level{2}) << "85 % of 1.2 of 4.7 GHz";
        EXPECT_EQ(bench.set_on(PolicyId{0}), Khz{900'000});
    };
    for (const NamedMode& mode : kModes) {
        for (const NamedMotion& motion : kMotions) {
            press_below_the_cap(mode, motion);
        }
    }
}

// /proc/stat cannot distinguish many light threads from one busy thread. Many almost idle CPUs count as nothing.
TEST(ClosedLoop, ManyLightThreadsCountAsOneBusyThreadAndNoiseAsNone) {
    Bench light(intel());
    light.teach(Uafp(Khz{4'700'000}));
    light.second(kMotions.front().cpu, {});
    light.second(kMotions.front().cpu, {.threads = 8, .share = 0.125}, Key::Performance);
    EXPECT_EQ(light.lesson().level, Level{9}) << "8 * 12.5 % at the top speed";

    Bench noise(intel(256));
    noise.teach(Uafp(Khz{4'700'000}));
    noise.second(kMotions.front().cpu, {});
    noise.second(kMotions.front().cpu, {.threads = 256, .share = 0.004}, Key::Performance);
    EXPECT_EQ(noise.lesson().level, Level{0}) << "256 * 0.4 % is more than one CPU";
}

}  // namespace
}  // namespace happe
