// SPDX-License-Identifier: GPL-2.0-or-later
// Properties of every profile in mode `extended`, on random observations. The vectors have the rules.
#include "governor/core/extended.h"

#include "governor/core/allocations_fixture.h"
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

// Every other history is of a study, with sham probes.
Settings settings_of(unsigned seed) {
    Settings settings = kExtended;
    settings.probe_seed = seed % 2 == 0 ? std::optional<std::uint64_t>(seed) : std::nullopt;
    return settings;
}

// One policy with a random ladder, a user who presses now and then, and a machine that sets each decision.
class ExtendedHistory {
public:
    explicit ExtendedHistory(unsigned seed)
        : random_(seed),
          ladder_(ladder()),
          governor_({{PolicyId{0}, ladder_}}, {}, settings_of(seed)),
          has_shams_(seed % 2 == 0),
          uafps_{governor_.untaught(), governor_.untaught()} {}

    void run(std::size_t observations) {
        for (std::size_t n = 0; n < observations && !testing::Test::HasFailure(); ++n) {
            observe();
        }
    }

    std::array<std::size_t, 4> probes{};  // by ProbeEvent
    std::array<std::size_t, 4> shams{};   // the shams among them

private:
    void observe() {
        now_ += below(20) == 0 ? std::chrono::seconds{60} : std::chrono::seconds{5};
        if (below(200) == 0) {  // the other application: as the loop does it
            uafp() = governor_.probe() ? governor_.probe()->before : uafp();
            governor_.forget_levels();
            application_ = 1 - application_;
        }
        const std::array cpus{Ppm{static_cast<std::uint32_t>(below(kOne.value + 1U))}};
        const std::array samples{PolicySample{.id = PolicyId{0}, .current = current_, .ran = {}, .cpus = cpus}};
        const Observation seen{.policies = samples, .key = key(), .at = now_, .present = below(4) != 0};
        const std::optional<Descent::Probe> running = governor_.probe();
        const std::size_t before = allocations;
        const Decision decision = governor_.step(seen, &uafp(), &patience_.at(application_));
        EXPECT_EQ(allocations, before) << "a step allocates nothing";
        current_ = decision.targets.empty() ? current_ : decision.targets.front().khz;
        EXPECT_TRUE(Uafp::from(uafp().values())) << "never descending";
        check_press(seen, samples.front().current.value_or(current_));
        check_probe(seen, decision, running);
        check_sham(decision, running);
    }

    Uafp& uafp() { return uafps_.at(application_); }

    // Every press moves at least one step unless at an end.
    void check_press(const Observation& seen, Khz from) const {
        if (seen.key == Key::Performance) {
            EXPECT_GE(current_, ladder_.above(from));
        } else if (seen.key == Key::Power) {
            EXPECT_LE(current_, ladder_.below(from));
        }
    }

    void check_probe(const Observation& seen, const Decision& decision, const std::optional<Descent::Probe>& running) {
        EXPECT_EQ(decision.lesson && decision.lesson->probe, decision.probe == ProbeEvent::Accepted && !decision.sham);
        if (!decision.probe) {
            return;
        }
        ++probes.at(static_cast<std::size_t>(*decision.probe));
        EXPECT_EQ(running.has_value(), decision.probe != ProbeEvent::Begun) << "one at a time";
        if (decision.probe == ProbeEvent::Begun) {
            EXPECT_TRUE(seen.present);
            EXPECT_FALSE(seen.key);
            EXPECT_TRUE(!begun_ || now_ - *begun_ >= std::chrono::seconds{120});
            const std::optional<MonoTime> ended = ended_.at(application_);
            EXPECT_TRUE(!ended || now_ - *ended >= patience_.at(application_).wait)
                << "a whole wait lies between probes";
            begun_ = now_;
            return;
        }
        ended_.at(application_) = now_;
        if (decision.probe == ProbeEvent::Refused) {
            EXPECT_GE(uafp().at(decision.lesson->level), running->before.at(decision.lesson->level));
            EXPECT_GE(current_, ladder_.at_or_above(running->before.at(decision.lesson->level), ladder_.top()));
        }
    }

    // A sham probe changes nothing that the machine looks up.
    void check_sham(const Decision& decision, const std::optional<Descent::Probe>& before) {
        if (decision.sham) {
            ++shams.at(static_cast<std::size_t>(*decision.probe));
        }
        EXPECT_TRUE(has_shams_ || !decision.sham) << "an owner's machine draws none";
        const std::optional<Descent::Probe>& now = governor_.probe();
        EXPECT_TRUE(!now || uafp() == (now->sham ? now->before : now->lower));
        EXPECT_TRUE(!before || !now || before->sham == now->sham);
    }

    std::optional<Key> key() {
        return below(60) != 0 ? std::nullopt : std::optional(below(3) == 0 ? Key::Power : Key::Performance);
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
    Ladder ladder_;
    Governor governor_;
    bool has_shams_;
    std::array<Uafp, 2> uafps_;  // of two applications
    std::array<Patience, 2> patience_;
    std::size_t application_ = 0;
    Khz current_ = ladder_.top();
    MonoTime now_;
    std::optional<MonoTime> begun_;
    std::array<std::optional<MonoTime>, 2> ended_;  // the last probe of each application
};

// 1,000,000 observations.
TEST(Extended, keeps_its_promises_in_every_history) {
    constexpr unsigned kHistories = 1'000;
    constexpr std::size_t kObservations = 1'000;
    std::array<std::size_t, 4> probes{};
    std::array<std::size_t, 4> shams{};
    for (unsigned seed = 1; seed <= kHistories && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        ExtendedHistory history(seed);
        history.run(kObservations);
        std::ranges::transform(probes, history.probes, probes.begin(), std::plus());
        std::ranges::transform(shams, history.shams, shams.begin(), std::plus());
    }
    EXPECT_GT(std::ranges::min(probes), 100U) << "each kind of end was met";
    EXPECT_GT(std::ranges::min(shams), 20U) << "of shams, too";
}

// Vigna's own program prints these values for the seed 1234567.
TEST(Extended, draws_shams_by_the_highest_bit_of_splitmix64) {
    constexpr std::array<std::uint64_t, 5> kPublished{6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                                      4593380528125082431U, 16408922859458223821U};
    ProbeDraw draw(1'234'567U);
    for (const std::uint64_t value : kPublished) {
        EXPECT_EQ(draw.sham(), value >> 63U == 1);
    }
}

TEST(Extended, does_what_the_paper_does_with_every_setting_off) {
    const std::vector<PolicyLadder> ladders{{PolicyId{0}, t61_ladder()}};
    Governor paper(ladders, {}, {});
    Governor present(ladders, {}, Settings{});
    Uafp taught = paper.untaught();
    Uafp same = present.untaught();
    Patience patience;
    std::mt19937 random(1);
    for (int second = 1; second <= 10'000; ++second) {
        const std::array cpus{Ppm{static_cast<std::uint32_t>(random() % (kOne.value + 1U))}};
        const std::array samples{PolicySample{.id = PolicyId{0}, .current = {}, .ran = {}, .cpus = cpus}};
        const std::optional<Key> key = random() % 100 != 0 ? std::nullopt
                                       : random() % 2 == 0 ? std::optional(Key::Power)
                                                           : std::optional(Key::Performance);
        const Decision one = paper.step({.policies = samples, .key = key}, &taught);
        const Decision other = present.step(
            {.policies = samples, .key = key, .at = MonoTime(std::chrono::seconds{second}), .present = true}, &same,
            &patience);
        ASSERT_TRUE(std::ranges::equal(one.targets, other.targets)) << second;
        ASSERT_EQ(taught, same) << second;
        ASSERT_FALSE(other.probe);
    }
    EXPECT_EQ(patience, Patience());
}

}  // namespace
}  // namespace happe
