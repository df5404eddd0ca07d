// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/day_tally.h"

#include <gtest/gtest.h>
#include <array>

namespace happe {
namespace {

using namespace std::chrono_literals;

constexpr std::array kKhz{Khz{800'000}, Khz{1'200'000}, Khz{2'300'000}};
const Ladder kLadder = *Ladder::from(kKhz);

class DayTallyTest : public testing::Test {
protected:
    // Adds a turn in which two policies ran at these speeds and utilisations.
    void spend(const Served& whom, std::array<std::pair<Khz, Ppm>, 2> policies, Micros lasted) {
        std::array<Running, 2> running;
        for (std::size_t at = 0; at < policies.size(); ++at) {
            running.at(at).ladder = &kLadder;
            running.at(at).current = policies.at(at).first;
            running.at(at).utilisation = policies.at(at).second;
        }
        add(whom, {.running = running}, lasted);
    }

    void add(const Served& whom, const Decision& decision, Micros lasted) {
        tally_.add({.at = {},
                    .served = &whom,
                    .policies = {},
                    .presses = {},
                    .power_saver = false,
                    .counted = {},
                    .decision = decision,
                    .uafp = nullptr,
                    .lasted = lasted});
    }

    WallTime now_{1h};
    DayTally tally_{
        [this] { return now_; },
        [](WallTime at) { return std::chrono::floor<std::chrono::days>(at + 45min).time_since_epoch().count(); }};
};

const Served kAlice{.user = "alice", .app = "torcs"};

TEST_F(DayTallyTest, AddsUpTheTimesOfTheBusiestCpu) {
    spend(kAlice, {{{Khz{800'000}, Ppm{970'000}}, {Khz{2'300'000}, Ppm{100'000}}}}, 1s);
    spend(kAlice, {{{Khz{800'000}, Ppm{100'000}}, {Khz{1'200'000}, Ppm{505'000}}}}, 1s);
    now_ += 2s;
    spend(kAlice, {{{Khz{800'000}, Ppm{978'000}}, {Khz{800'000}, Ppm{0}}}}, 500ms);

    const TimeSpent today = tally_.today("alice").value();

    EXPECT_EQ(WallTime(Micros(today.since_us)), WallTime(1h) - 1s);
    EXPECT_EQ(today.spent, (std::vector<SpentTime>{{Khz{800'000}, 97, 1500}, {Khz{1'200'000}, 50, 1000}}));
}

TEST_F(DayTallyTest, RoundsSpeedsSoThatADayIsNotAnyNumberOfThem) {
    for (std::uint32_t khz = 800'000; khz < 849'999; khz += 1000) {
        spend(kAlice, {{{Khz{khz}, Ppm{1'000'000}}, {Khz{khz}, Ppm{0}}}}, 1ms);
    }
    EXPECT_EQ(tally_.today("alice")->spent, (std::vector<SpentTime>{{Khz{800'000}, 100, 50}}));
}

TEST_F(DayTallyTest, TellsEachUserOfTheirOwnTime) {
    spend(kAlice, {{{Khz{800'000}, Ppm{0}}, {Khz{800'000}, Ppm{0}}}}, 1s);
    EXPECT_TRUE(tally_.today("bob")->spent.empty());
    EXPECT_EQ(tally_.today("alice")->spent.size(), 1U);
}

TEST_F(DayTallyTest, BeginsAnewAtMidnight) {
    spend(kAlice, {{{Khz{800'000}, Ppm{0}}, {Khz{800'000}, Ppm{0}}}}, 1s);
    now_ = WallTime(23h + 15min - 1us);
    EXPECT_FALSE(tally_.today("alice")->spent.empty());

    now_ = WallTime(23h + 15min);
    EXPECT_TRUE(tally_.today("alice")->spent.empty());
    EXPECT_EQ(tally_.today("alice")->since_us, Micros(now_.time_since_epoch()).count());
}

// The quick tests run an hour and a half ahead of UTC (tools/test.sh); so does this one, wherever it runs.
TEST(LocalDayTest, EndsAtMidnightInTheZoneOfTheMachine) {
    ::setenv("TZ", "XST-01:30", 1);  // NOLINT(concurrency-mt-unsafe) - there is one thread
    ::tzset();
    const WallTime midnight{22h + 30min};
    EXPECT_EQ(DayTally::local_day(midnight - 1s), DayTally::local_day(WallTime{}));
    EXPECT_EQ(DayTally::local_day(midnight), DayTally::local_day(WallTime{}) + 1);
}

TEST_F(DayTallyTest, CountsNothingThatCouldNotBeMeasured) {
    add(kAlice, {}, 1s);
    EXPECT_TRUE(tally_.today("alice")->spent.empty());
}

}  // namespace
}  // namespace happe
