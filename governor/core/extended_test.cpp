// SPDX-License-Identifier: GPL-2.0-or-later
// Properties of every profile in both modes, on random observations. The vectors have the rules.
#include "governor/core/extended.h"

#include "governor/core/allocation_count_fixture.h"
#include "governor/core/governor.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace happe {
namespace {

// One to four policies with random ladders, in random domains. A user presses now and then, stays away, asks for less
// power, or undoes presses. Limits of other programs and boost come and go. Now and then HAPPE begins while the kernel
// runs the machine.
class History {
public:
    History(unsigned seed, const Settings& settings)
        : random_(seed),
          settings_(settings),
          policies_(policies()),
          domains_(domains()),
          governor_(policies_, domains_, settings_),
          uafps_{governor_.untaught(), governor_.untaught()},
          set_(policies_.size(), kHighestKhz),
          limits_(policies_.size()),
          utilisation_(policies_.size()) {
        if (settings_.felt) {
            settings_.floor = Khz{static_cast<std::uint32_t>(below(2) * below(governor_.f_ref().value))};
            governor_ = Governor(policies_, domains_, settings_);
        }
    }

    void run(std::size_t observations) {
        for (std::size_t n = 0; n < observations && !testing::Test::HasFailure(); ++n) {
            observe();
        }
    }

    std::array<std::size_t, 4> probes{};       // by ProbeEvent
    std::array<std::size_t, 2> kept{};         // by Key: presses whose step would have broken a rule
    std::size_t tops = 0;                      // presses at the top
    std::map<std::string, std::size_t> kinds;  // of observations

private:
    void observe() {
        now_ += below(20) == 0 ? std::chrono::seconds{60} : std::chrono::seconds{5};
        if (below(200) == 0) {
            change_application();
        }
        if (below(300) == 0) {
            undo();
        }
        if (below(100) == 0) {
            change_circumstances();
        }
        measure();
        const Observation seen{
            .policies = samples_,
            .key = key(),
            .power_saver = saves_,
            .at = now_,
            .present = below(300) != 0,
            .idle = idle_,
            .front = below(50) != 0 ? kMostWork : Ppm{static_cast<std::uint32_t>(below(kOne.value))}};
        count(seen);
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
        began_ = false;
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
            began_ = true;
            ++kinds["starts"];
        }
    }

    // As the loop does it after happectl undo: it reads the profile again.
    void undo() {
        governor_.forget_levels();
        uafp() = earlier_.at(application_).value_or(governor_.untaught());
        ++kinds["undone presses"];
    }

    void count(const Observation& seen) {
        ++kinds["all"];
        kinds["limits"] +=
            std::ranges::any_of(samples_, [](const PolicySample& each) { return each.limit.has_value(); });
        kinds["no boost"] += !has_boost_;
        kinds["held levels"] += settings_.hold;
        kinds["domains"] += domains_.size() > 1;
        kinds["hybrid"] += policies_.front().ladder.top() != policies_.back().ladder.top();
        kinds["power saver"] += seen.power_saver;
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
    // what ran, unless at an end or where HAPPE begins.
    void check_press(const Observation& seen, const Uafp& before, const Decision& decision) {
        if (!seen.key) {
            EXPECT_TRUE(uafp() == before || governor_.probe() || decision.probe == ProbeEvent::Accepted);
            return;
        }
        const bool faster = seen.key == Key::Performance;
        EXPECT_EQ(decision.lesson.has_value(), !decision.at_top);
        if (decision.at_top) {
            ++tops;
            EXPECT_EQ(uafp(), before) << "it teaches nothing";
            EXPECT_TRUE(faster &&
                        (policies_.size() > 1 || seen.power_saver || set_.front() == policies_.front().ladder.top()));
            return;
        }
        earlier_.at(application_) = before;
        for (std::uint8_t level = 0; level < Uafp::kLevels && must_keep(before.at(decision.lesson->level)); ++level) {
            const Khz then = before.at(Level{level});
            EXPECT_TRUE(faster ? uafp().at(Level{level}) >= then : uafp().at(Level{level}) <= then);
        }
        const auto& [id, ladder] = policies_.front();
        const Khz from = *samples_.front().current;
        const Khz answer = ladder.at_or_above(before.at(decision.lesson->level), ladder.top());
        if (policies_.size() == 1 && !seen.power_saver && !began_ && must_keep(answer)) {
            EXPECT_TRUE(faster ? set_.front() >= ladder.above(from)
                               : set_.front() <= ladder.below(std::min(from, samples_.front().ran.value_or(from))));
            kept.at(static_cast<std::size_t>(*seen.key)) +=
                faster ? ladder.above(from) < answer : ladder.below(from) > answer;
        }
    }

    // The two rules hold for a press where the profile has this value.
    bool must_keep(Khz value) const {
        return settings_.extended || std::ranges::any_of(samples_, [&](const PolicySample& sample) {
                   const Ladder& ladder = policies_.at(sample.id.value).ladder;
                   const Khz answer = ladder.at_or_above(value, governor_.f_ref());
                   return sample.limit && (*sample.limit <= *sample.current || *sample.limit < answer);
               });
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
        if (running && !seen.key && !is_felt(seen, running->before.at(running->level))) {
            EXPECT_EQ(decision.probe, ProbeEvent::Ended);
        }
        if (!decision.probe) {
            return;
        }
        ++probes.at(static_cast<std::size_t>(*decision.probe));
        EXPECT_EQ(running.has_value(), decision.probe != ProbeEvent::Begun) << "one at a time";
        if (decision.probe == ProbeEvent::Begun) {
            EXPECT_TRUE(is_felt(seen, governor_.probe()->before.at(governor_.probe()->level)));
            EXPECT_FALSE(seen.key);
            const std::uint64_t used = std::accumulate(utilisation_.begin(), utilisation_.end(), std::uint64_t{0},
                                                       [](std::uint64_t sum, Ppm cpu) { return sum + cpu.value; });
            EXPECT_GT(2 * std::uint64_t{seen.front.value}, used) << "the application in front feels it";
            const Descent::Probe& probe = *governor_.probe();
            EXPECT_GE(probe.lower.at(probe.level), std::min(settings_.floor, probe.before.at(probe.level)));
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
        return below(settings_.descent ? 60 : 5) != 0 ? std::nullopt
                                                      : std::optional(below(3) == 0 ? Key::Power : Key::Performance);
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
    Settings settings_;
    std::vector<PolicyLadder> policies_;
    Domains domains_;
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
    bool began_ = true;
    std::array<std::optional<Uafp>, 2> earlier_;  // before the last press of each application
    Micros idle_{0};
    MonoTime now_;
    std::optional<MonoTime> begun_;
    std::array<std::optional<MonoTime>, 2> ended_;  // the last probe of each application
};

// With 1,000 observations in each history. `tools/validate.sh long` sets HAPPE_HISTORIES to 15,000.
void check_histories(const Settings& settings) {
    const char* const asked = std::getenv("HAPPE_HISTORIES");  // NOLINT(concurrency-mt-unsafe): one thread
    const unsigned histories = asked != nullptr ? static_cast<unsigned>(std::stoul(asked)) : 500;
    std::array<std::size_t, 4> probes{};
    std::array<std::size_t, 2> kept{};
    std::size_t tops = 0;
    std::map<std::string, std::size_t> kinds;
    for (unsigned seed = 1; seed <= histories && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        History history(seed, settings);
        history.run(1'000);
        std::ranges::transform(probes, history.probes, probes.begin(), std::plus());
        std::ranges::transform(kept, history.kept, kept.begin(), std::plus());
        tops += history.tops;
        for (const auto& [kind, count] : history.kinds) {
            kinds[kind] += count;
        }
    }
    EXPECT_GT(std::ranges::min(kept), 5U) << "the rules were needed";
    EXPECT_EQ(tops > 50, settings.silent_top);
    EXPECT_TRUE(!settings.descent || std::ranges::min(probes) > 20U) << "each kind of end was met";
    std::string counts;
    for (const auto& [kind, count] : kinds) {
        counts += kind + ' ' + std::to_string(count) + ", ";
    }
    std::cout << counts << "kept " << kept[0] << " and " << kept[1] << ", at the top " << tops << '\n';
}

TEST(Extended, keeps_its_promises_in_every_history) {
    check_histories(kExtended);
}

TEST(Extended, mode_paper_keeps_the_two_rules_where_a_limit_binds) {
    check_histories({});
}

}  // namespace
}  // namespace happe
