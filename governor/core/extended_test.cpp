// SPDX-License-Identifier: GPL-2.0-or-later
// Properties of every profile in mode `extended`, on random observations. The vectors have the rules.
#include "governor/core/extended.h"

#include "governor/core/allocation_count_fixture.h"
#include "governor/core/governor.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace happe {
namespace {

// One to four policies with random ladders, in random domains. A user presses now and then, stays away, or asks for
// less power. Limits of other programs and boost come and go. Now and then HAPPE begins while the kernel runs the
// machine.
class ExtendedHistory {
public:
    explicit ExtendedHistory(unsigned seed)
        : random_(seed),
          policies_(policies()),
          governor_(policies_, domains(), kExtended),
          uafps_{governor_.untaught(), governor_.untaught()},
          set_(policies_.size(), kHighestKhz),
          limits_(policies_.size()),
          utilisation_(policies_.size()) {}

    void run(std::size_t observations) {
        for (std::size_t n = 0; n < observations && !testing::Test::HasFailure(); ++n) {
            observe();
        }
    }

    std::array<std::size_t, 4> probes{};  // by ProbeEvent
    std::array<std::size_t, 2> kept{};    // by Key: presses whose step would have broken a rule

private:
    void observe() {
        now_ += below(20) == 0 ? std::chrono::seconds{60} : std::chrono::seconds{5};
        if (below(200) == 0) {
            change_application();
        }
        if (below(100) == 0) {
            change_circumstances();
        }
        measure();
        const Observation seen{.policies = samples_,
                               .key = key(),
                               .power_saver = saves_,
                               .at = now_,
                               .present = below(300) != 0,
                               .idle = idle_};
        const std::optional<Descent::Probe> running = governor_.probe();
        const Uafp before = running ? running->before : uafp();
        const std::size_t allocated = allocations;
        const Decision decision = governor_.step(seen, &uafp(), &patience_.at(application_));
        EXPECT_EQ(allocations, allocated) << "a step allocates nothing";
        for (std::size_t index = 0; index < policies_.size(); ++index) {
            set_.at(index) = *samples_.at(index).current;
        }
        for (const Target& target : decision.targets) {
            set_.at(target.policy.value) = target.khz;
        }
        EXPECT_TRUE(Uafp::from(uafp().values())) << "never descending";
        check_press(seen, before, decision);
        check_probe(seen, decision, running);
    }

    Uafp& uafp() { return uafps_.at(application_); }

    // As the loop does it. Sometimes nobody is served meanwhile, and then the kernel runs the machine.
    void change_application() {
        uafp() = governor_.probe() ? governor_.probe()->before : uafp();
        governor_.forget_levels();
        application_ = 1 - application_;
        if (below(2) == 0) {
            governor_.step({.policies = {}, .key = {}, .at = now_}, nullptr);
            std::ranges::fill(set_, kHighestKhz);
        }
    }

    void change_circumstances() {
        has_boost_ = below(3) != 0;
        saves_ = below(5) == 0;
        idle_ = std::chrono::seconds{below(2) == 0 ? below(900) : 0};
        for (std::size_t index = 0; index < policies_.size(); ++index) {
            const Khz top = policies_.at(index).ladder.top();
            limits_.at(index) =
                below(3) == 0 ? std::optional(Khz{1 + static_cast<std::uint32_t>(below(top.value))}) : std::nullopt;
        }
    }

    // What runs is within the limits. The end of boost is a limit that nobody shows.
    void measure() {
        samples_.clear();
        for (std::size_t index = 0; index < policies_.size(); ++index) {
            const auto& [id, ladder] = policies_.at(index);
            const Khz most = std::min(has_boost_ ? ladder.top() : ladder.below(ladder.top()),
                                      limits_.at(index).value_or(kHighestKhz));
            const Khz current = std::min(set_.at(index), most);
            utilisation_.at(index) = Ppm{static_cast<std::uint32_t>(below(kOne.value + 1U))};
            samples_.push_back({.id = id,
                                .current = current,
                                .ran = below(3) == 0
                                           ? std::optional(Khz{1 + static_cast<std::uint32_t>(below(current.value))})
                                           : std::nullopt,
                                .limit = limits_.at(index),
                                .cpus = std::span(utilisation_).subspan(index, 1)});
        }
    }

    // "Faster" lowers no value, "save power" raises none. On a single policy every press moves at least one step from
    // what ran, unless at an end.
    void check_press(const Observation& seen, const Uafp& before, const Decision& decision) {
        if (!seen.key) {
            EXPECT_TRUE(uafp() == before || governor_.probe() || decision.probe == ProbeEvent::Accepted);
            return;
        }
        const bool faster = seen.key == Key::Performance;
        for (std::uint8_t level = 0; level < Uafp::kLevels; ++level) {
            const Khz then = before.at(Level{level});
            EXPECT_TRUE(faster ? uafp().at(Level{level}) >= then : uafp().at(Level{level}) <= then);
        }
        const auto& [id, ladder] = policies_.front();
        const Khz from = *samples_.front().current;
        const Khz answer = ladder.at_or_above(before.at(decision.lesson->level), ladder.top());
        if (policies_.size() == 1 && !seen.power_saver) {
            EXPECT_TRUE(faster ? set_.front() >= ladder.above(from)
                               : set_.front() <= ladder.below(std::min(from, samples_.front().ran.value_or(from))));
            kept.at(static_cast<std::size_t>(*seen.key)) +=
                faster ? ladder.above(from) < answer : ladder.below(from) > answer;
        }
    }

    // A person can feel a probe of this value.
    bool is_felt(const Observation& seen, Khz value) const {
        return seen.present && std::ranges::all_of(samples_, [&](const PolicySample& sample) {
                   const Ladder& ladder = policies_.at(sample.id.value).ladder;
                   return !sample.limit || *sample.limit >= ladder.at_or_above(value, governor_.f_ref());
               });
    }

    void check_probe(const Observation& seen, const Decision& decision, const std::optional<Descent::Probe>& running) {
        EXPECT_EQ(decision.lesson && decision.lesson->probe, decision.probe == ProbeEvent::Accepted);
        EXPECT_TRUE(!governor_.probe() || uafp() == governor_.probe()->lower);
        if (running && !seen.key) {
            EXPECT_EQ(decision.probe == ProbeEvent::Ended, !is_felt(seen, running->before.at(running->level)));
        }
        if (!decision.probe) {
            return;
        }
        ++probes.at(static_cast<std::size_t>(*decision.probe));
        EXPECT_EQ(running.has_value(), decision.probe != ProbeEvent::Begun) << "one at a time";
        if (decision.probe == ProbeEvent::Begun) {
            EXPECT_TRUE(is_felt(seen, governor_.probe()->before.at(governor_.probe()->level)));
            EXPECT_FALSE(seen.key);
            EXPECT_TRUE(!begun_ || now_ - *begun_ >= std::chrono::seconds{120});
            const std::optional<MonoTime> ended = ended_.at(application_);
            EXPECT_TRUE(!ended || now_ - *ended >= patience_.at(application_).wait)
                << "a whole wait lies between probes";
            begun_ = now_;
            return;
        }
        ended_.at(application_) = now_;
        EXPECT_TRUE(decision.probe != ProbeEvent::Accepted ||
                    now_ - *begun_ >= std::max<Micros>(seen.idle, std::chrono::seconds{60}))
            << "somebody was there after it began";
    }

    std::optional<Key> key() {
        return below(60) != 0 ? std::nullopt : std::optional(below(3) == 0 ? Key::Power : Key::Performance);
    }

    // One or two.
    Domains domains() {
        Domains domains(2);
        for (const PolicyLadder& policy : policies_) {
            domains.at(below(3) == 0 ? 1 : 0).push_back(policy.id);
        }
        std::erase(domains, std::vector<PolicyId>());
        return domains;
    }

    std::vector<PolicyLadder> policies() {
        std::vector<PolicyLadder> policies;
        for (std::size_t count = below(2) == 0 ? 1 : 1 + below(4); policies.size() < count;) {
            policies.push_back({PolicyId{static_cast<std::uint16_t>(policies.size())}, ladder()});
        }
        return policies;
    }

    Ladder ladder() {
        std::vector<Khz> khz(1 + below(40));
        std::uint32_t last = 300'000;
        for (Khz& each : khz) {
            each = Khz{last += 1 + static_cast<std::uint32_t>(below(200'000))};
        }
        return *Ladder::from(khz);
    }

    std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

    std::mt19937 random_;
    std::vector<PolicyLadder> policies_;
    Governor governor_;
    std::array<Uafp, 2> uafps_;  // of two applications
    std::array<Patience, 2> patience_;
    std::size_t application_ = 0;
    std::vector<Khz> set_;  // by HAPPE or, at a start, by the kernel
    std::vector<std::optional<Khz>> limits_;
    std::vector<Ppm> utilisation_;
    std::vector<PolicySample> samples_;
    bool has_boost_ = true;
    bool saves_ = false;
    Micros idle_{0};
    MonoTime now_;
    std::optional<MonoTime> begun_;
    std::array<std::optional<MonoTime>, 2> ended_;  // the last probe of each application
};

// 1,000,000 observations.
TEST(Extended, keeps_its_promises_in_every_history) {
    constexpr unsigned kHistories = 1'000;
    constexpr std::size_t kObservations = 1'000;
    std::array<std::size_t, 4> probes{};
    std::array<std::size_t, 2> kept{};
    for (unsigned seed = 1; seed <= kHistories && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        ExtendedHistory history(seed);
        history.run(kObservations);
        std::ranges::transform(probes, history.probes, probes.begin(), std::plus());
        std::ranges::transform(kept, history.kept, kept.begin(), std::plus());
    }
    EXPECT_GT(std::ranges::min(probes), 100U) << "each kind of end was met";
    EXPECT_GT(std::ranges::min(kept), 50U) << "the rules were needed";
}

}  // namespace
}  // namespace happe
