// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/participant.h"

#include "governor/sim/machine.h"

#include <gtest/gtest.h>
#include <algorithm>

namespace happe::sim {
namespace {

constexpr Khz k08{800'000};
constexpr Khz k16{1'600'000};
constexpr Khz k23{2'300'000};
constexpr double kStep = 0.04;

PersonParameters steady() {
    return {.personal_share = 0.5, .notice_seconds = 0.01, .pause_seconds = 2.0, .contrast = 1.0, .regret = 0.5};
}

ApplicationParameters application() {
    ApplicationParameters parameters;
    parameters.name = "torcs";
    parameters.need_khz = 1.5e6;
    parameters.need_spread = 0.3;
    parameters.impatience = 0.5;
    parameters.thrift = 0.2;
    parameters.indicator_thrift = 3.0;
    parameters.rating = 5.0;
    parameters.annoyance = 4.0;
    return parameters;
}

// Plays two minutes at a frequency with a demand of 2 GHz.
struct Lived {
    Player player;
    std::vector<Press> presses;
    MonoTime now{};

    Lived(const Taste& taste, Khz khz, Player::Run run)
        : player(Person{}, taste, application(), steady(), run, Random({1})) {
        live(khz);
    }
    void live(Khz khz) {
        for (int step = 0; step < 3'000; ++step) {
            now += std::chrono::milliseconds(40);
            player.live(now, kStep, khz, 2e6);
            player.take(presses);
        }
    }
    [[nodiscard]] std::ptrdiff_t pressed(Key key) const { return std::ranges::count(presses, key, &Press::key); }
};

TEST(Taste, gives_the_four_categories_of_section_a3) {
    const auto category = [](double need, bool unsatisfied) {
        return Taste{.need_khz = need, .unsatisfied = unsatisfied}.category(t61_ladder());
    };
    EXPECT_EQ(category(7e5, false), Category::Satisfied);
    EXPECT_EQ(category(8e5, false), Category::Satisfied);
    EXPECT_EQ(category(8.1e5, false), Category::Threshold);
    EXPECT_EQ(category(2.2e6, false), Category::Threshold);
    EXPECT_EQ(category(2.25e6, false), Category::Rising);
    EXPECT_EQ(category(1e6, true), Category::Unsatisfied);
}

TEST(Taste, is_satisfied_by_the_lowest_frequency_that_covers_need_or_demand) {
    const Taste taste{.need_khz = 1.5e6};
    EXPECT_EQ(taste.satisfying(t61_ladder(), 2e6), k16);
    EXPECT_EQ(taste.satisfying(t61_ladder(), 5e5), k08) << "the game wants no more";
    EXPECT_EQ((Taste{.need_khz = 9e6}).satisfying(t61_ladder(), 9e6), k23);
    EXPECT_EQ((Taste{.need_khz = 9e6, .unsatisfied = true}).satisfying(t61_ladder(), 9e6), k08)
        << "speed is wasted on them";
    EXPECT_DOUBLE_EQ(taste.shortfall(k16, 2e6), 0.0);
    EXPECT_DOUBLE_EQ(taste.shortfall(Khz{750'000}, 2e6), 0.5);
}

TEST(Taste, that_follows_the_demand_is_a_share_of_it) {
    const Taste half{.need_khz = 1e6, .follows_khz = 2e6};
    EXPECT_EQ(half.satisfying(t61_ladder(), 1.6e6), k08);
    EXPECT_EQ(half.satisfying(t61_ladder(), 4e6), Khz{2'200'000});
    EXPECT_DOUBLE_EQ(half.shortfall(Khz{500'000}, 2e6), 0.5);
}

TEST(Oracle, runs_at_what_satisfies_now) {
    Oracle oracle(Taste{.need_khz = 1.5e6});
    oracle.tell(2e6);
    EXPECT_EQ(oracle.next(t61_ladder(), k23, kOne), k16);
    oracle.tell(1e5);
    EXPECT_EQ(oracle.next(t61_ladder(), k23, kOne), k08);
}

TEST(Player, asks_for_speed_only_when_slow_and_saves_only_when_satisfied) {
    const Taste taste{.need_khz = 1.5e6};
    const Lived slow(taste, k08, {.has_keys = true, .has_indicator = false});
    EXPECT_GT(slow.pressed(Key::Performance), 5);
    EXPECT_EQ(slow.pressed(Key::Power), 0);
    const Lived fast(taste, k16, {.has_keys = true, .has_indicator = false});
    EXPECT_EQ(fast.pressed(Key::Performance), 0);
    EXPECT_GT(fast.pressed(Key::Power), 5);
}

TEST(Player, saves_more_with_the_indicator_and_presses_nothing_without_keys) {
    const Taste taste{.need_khz = 1.5e6};
    const auto without = Lived(taste, k16, {.has_keys = true, .has_indicator = false}).pressed(Key::Power);
    EXPECT_GT(Lived(taste, k16, {.has_keys = true, .has_indicator = true}).pressed(Key::Power), without);
    EXPECT_TRUE(Lived(taste, k08, {.has_keys = false, .has_indicator = false}).presses.empty());
}

TEST(Player, presses_in_bursts_that_the_governor_counts_as_one) {
    PersonParameters people = steady();
    people.burst_share = 1.0;
    Player player(Person{}, Taste{.need_khz = 1.5e6}, application(), people, {.has_keys = true, .has_indicator = false},
                  Random({1}));
    std::vector<Press> presses;
    PressSeries series;
    int counted = 0;
    MonoTime now;
    for (int step = 0; step < 3'000; ++step) {
        now += std::chrono::milliseconds(40);
        player.live(now, kStep, k08, 2e6);
        std::vector<Press> fresh;
        player.take(fresh);
        counted += series.counted(fresh) ? 1 : 0;
        presses.insert(presses.end(), fresh.begin(), fresh.end());
    }
    EXPECT_GT(static_cast<int>(presses.size()), counted);
    EXPECT_TRUE(std::ranges::is_sorted(presses, {}, &Press::at));
}

TEST(Player, gives_up_faster_at_the_top_until_the_next_sitting) {
    const Player::Run at_top{.has_keys = true, .has_indicator = false, .top = k08};
    Lived lived(Taste{.need_khz = 1.6e6}, k08, at_top);
    EXPECT_EQ(lived.pressed(Key::Performance), 3);
    lived.player.sit_down();
    lived.live(k08);
    EXPECT_EQ(lived.pressed(Key::Performance), 6);
    lived.live(Khz{k08.value - 1});
    EXPECT_GT(lived.pressed(Key::Performance), 7) << "below the top it may have an effect";
}

TEST(Player, rates_slowness_down_and_stays_on_the_scale) {
    const Taste taste{.need_khz = 1.6e6};
    EXPECT_EQ(Lived(taste, k16, {}).player.rate(), 5);
    EXPECT_EQ(Lived(taste, k08, {}).player.rate(), 3) << "a shortfall of a half costs two points";
    const Taste unsatisfied{.need_khz = 1.6e6, .unsatisfied = true};
    EXPECT_EQ(Lived(unsatisfied, k23, {}).player.rate(), 4) << "3.5, rounded";
    EXPECT_EQ(Lived(Taste{.need_khz = 1e7}, Khz{1}, {}).player.rate(), 1);
}

TEST(People, come_in_equal_groups_and_are_the_same_for_a_seed) {
    const auto everybody = people(24, steady(), 3);
    EXPECT_EQ(std::ranges::count(everybody, Experience::Master, &Person::experience), 8);
    EXPECT_EQ(std::ranges::count(everybody, Major::Eecs, &Person::major), 12);
    const auto again = people(24, steady(), 3);
    EXPECT_TRUE(std::ranges::equal(everybody, again, {}, &Person::sensitivity, &Person::sensitivity));
    const auto others = people(24, steady(), 4);
    EXPECT_FALSE(std::ranges::equal(everybody, others, {}, &Person::sensitivity, &Person::sensitivity));
}

TEST(Random, is_the_same_everywhere_and_near_what_it_says) {
    Random random({42});
    const std::uint64_t first = random.bits();
    EXPECT_EQ(first, Random({42}).bits());
    EXPECT_NE(first, Random({43}).bits());
    EXPECT_NE((Random({1, 2}).bits()), (Random({2, 1}).bits()));
    double sum = 0.0;
    double squares = 0.0;
    constexpr int kDraws = 100'000;
    for (int i = 0; i < kDraws; ++i) {
        const double draw = random.normal();
        sum += draw;
        squares += draw * draw;
    }
    EXPECT_NEAR(sum / kDraws, 0.0, 0.02);
    EXPECT_NEAR(squares / kDraws, 1.0, 0.03);
}

}  // namespace
}  // namespace happe::sim
