// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/loop.h"

#include "governor/core/fakes.h"

#include <gtest/gtest.h>
#include <array>

namespace happe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array kT61{Khz{800'000}, Khz{1'200'000}, Khz{1'600'000}, Khz{2'200'000}, Khz{2'300'000}};
const Served kAlice{"alice", "torcs"};

MonoTime at(Micros time) {
    return MonoTime(time);
}

struct LoopTest : testing::Test {
    fake::Utilisation utilisation;
    fake::Frequency frequency;
    fake::Keys keys;
    fake::Focus focus;
    MemoryProfiles profiles;
    fake::Watcher watcher;
    LoopSettings settings;

    LoopTest() {
        utilisation.cpus = {Ppm{1'000'000}, Ppm{100'000}};
        frequency.list = {{PolicyId{0}, {0, 1}, *Ladder::from(kT61)}};
        frequency.khz[PolicyId{0}] = Khz{800'000};
        focus.whom = kAlice;
    }
    Loop loop() { return {{utilisation, frequency, keys, focus, profiles, watcher}, settings, at(seconds(0))}; }
    void press(Key key, Micros time) { keys.waiting.push_back({key, at(time)}); }
    [[nodiscard]] Khz khz() const { return frequency.khz.at(PolicyId{0}); }
};

TEST(PressSeries, counts_a_series_once_where_it_begins) {
    PressSeries series;
    const auto one = [&series](Key key, std::int64_t ms) {
        return series.counted(std::array{Press{key, at(milliseconds(ms))}});
    };
    EXPECT_EQ(one(Key::Performance, 0), Key::Performance);
    EXPECT_EQ(one(Key::Performance, 999), std::nullopt);
    EXPECT_EQ(one(Key::Power, 999), Key::Power);
    EXPECT_EQ(one(Key::Performance, 1'998), std::nullopt);
    EXPECT_EQ(one(Key::Performance, 2'998), Key::Performance);
    EXPECT_EQ(series.counted({}), std::nullopt);
}

TEST(PressSeries, prefers_performance_whichever_came_first) {
    PressSeries series;
    EXPECT_EQ(
        series.counted(std::array{Press{Key::Power, at(seconds(0))}, Press{Key::Performance, at(milliseconds(1))}}),
        Key::Performance);
    EXPECT_EQ(
        series.counted(std::array{Press{Key::Performance, at(seconds(5))}, Press{Key::Power, at(milliseconds(5'001))}}),
        Key::Performance);
}

TEST_F(LoopTest, applies_and_stores_what_a_press_teaches) {
    Loop loop = this->loop();
    press(Key::Performance, milliseconds(400));

    loop.turn(at(seconds(1)));

    EXPECT_EQ(khz(), Khz{1'200'000});
    ASSERT_EQ(profiles.lessons.size(), 1U);
    EXPECT_EQ(profiles.profiles.at(kAlice).at(Level{3}), Khz{1'200'000});
    EXPECT_EQ(watcher.turns, 1);
}

TEST_F(LoopTest, sham_keys_are_told_to_the_observer_and_change_nothing) {
    settings.sham = true;
    profiles.profiles.insert_or_assign(kAlice, Uafp(Khz{1'600'000}));
    Loop loop = this->loop();
    press(Key::Performance, milliseconds(400));

    loop.turn(at(seconds(1)));

    EXPECT_EQ(khz(), Khz{1'600'000});
    EXPECT_TRUE(profiles.lessons.empty());
    EXPECT_EQ(watcher.presses, 1U);
    EXPECT_EQ(watcher.counted, std::vector{Key::Performance});
}

TEST_F(LoopTest, counts_a_series_across_its_turns_whether_or_not_somebody_is_served) {
    focus.whom.reset();
    Loop loop = this->loop();
    for (const int ms : {900, 1'800}) {
        press(Key::Power, milliseconds(ms));
        loop.turn(at(milliseconds(ms)));
    }
    EXPECT_EQ(watcher.presses, 2U);
    EXPECT_EQ(watcher.counted, std::vector{Key::Power});
}

TEST_F(LoopTest, serves_a_stored_profile_and_keeps_each_application_its_own) {
    profiles.profiles.insert_or_assign(kAlice, Uafp(Khz{1'600'000}));
    Loop loop = this->loop();
    loop.turn(at(seconds(1)));
    EXPECT_EQ(khz(), Khz{1'600'000});

    focus.whom = Served{"alice", "glest"};
    loop.turn(at(seconds(2)));
    EXPECT_EQ(khz(), Khz{800'000});
}

TEST_F(LoopTest, a_profile_on_mains_is_the_other_until_its_first_lesson_and_the_other_way_round) {
    for (const bool warm : {false, true}) {
        settings.algorithm.warm_start = warm;
        profiles.profiles = {{kAlice, Uafp(Khz{1'600'000})}, {{"alice", "glest"}, Uafp(Khz{2'300'000})}};
        Served on_mains = kAlice;
        on_mains.source = PowerSource::Mains;
        Loop loop = this->loop();
        focus.whom = on_mains;
        loop.turn(at(seconds(1)));
        EXPECT_EQ(khz(), Khz{1'600'000});
        EXPECT_FALSE(profiles.profiles.contains(on_mains));
        press(Key::Performance, milliseconds(1'400));
        loop.turn(at(seconds(2)));
        EXPECT_EQ(khz(), Khz{2'200'000});
        EXPECT_EQ(profiles.lessons.back().first, on_mains);
        focus.whom = kAlice;
        loop.turn(at(seconds(3)));
        EXPECT_EQ(khz(), Khz{1'600'000});

        profiles.profiles.erase(kAlice);
        Loop later = this->loop();
        later.turn(at(seconds(4)));
        EXPECT_EQ(khz(), Khz{2'200'000});
    }
}

TEST(ProfileName, says_which_source_of_power_it_is_for) {
    for (const PowerSource source : {PowerSource::Both, PowerSource::Mains, PowerSource::Battery}) {
        const Served whom{.user = "alice", .app = "torcs", .source = source};
        EXPECT_EQ(served_of("alice", profile_name(whom)), whom);
    }
    EXPECT_EQ(profile_name({.user = "alice", .app = "torcs", .source = PowerSource::Mains}), "torcs/mains");
    for (const char* const name : {"", "mains", "/mains", "torcs/", "torcs/Mains", "torcs/mains/"}) {
        EXPECT_EQ(served_of("alice", name), (Served{"alice", name}));
    }
    EXPECT_EQ(served_of("", "a/b/battery").app, "a/b");
}

TEST_F(LoopTest, says_at_its_beginning_that_utilisation_cannot_be_read) {
    utilisation.broken = Error{"/proc/stat: gone"};

    const Loop loop = this->loop();

    EXPECT_EQ(watcher.failures, std::vector<std::string>{"/proc/stat: gone"});
}

TEST_F(LoopTest, gives_the_machine_back_with_nobody_there_and_takes_it_again) {
    Loop loop = this->loop();
    loop.turn(at(seconds(1)));
    EXPECT_TRUE(frequency.acquired);
    focus.whom.reset();
    loop.turn(at(seconds(2)));
    EXPECT_FALSE(frequency.acquired);
    focus.whom = kAlice;
    loop.turn(at(seconds(3)));
    loop.turn(at(seconds(4)));
    EXPECT_TRUE(frequency.acquired);
    EXPECT_EQ(frequency.acquisitions, 2);
}

TEST_F(LoopTest, takes_nothing_while_nobody_has_come) {
    focus.whom.reset();
    Loop loop = this->loop();
    loop.turn(at(seconds(1)));
    EXPECT_EQ(frequency.acquisitions, 0);
}

TEST_F(LoopTest, reports_a_machine_it_cannot_take_and_tries_again) {
    frequency.broken = Error{"scaling_governor: permission denied"};
    profiles.profiles.insert_or_assign(kAlice, Uafp(Khz{1'600'000}));
    Loop loop = this->loop();
    loop.turn(at(seconds(1)));
    EXPECT_EQ(watcher.failures, std::vector<std::string>{"scaling_governor: permission denied"});
    EXPECT_EQ(khz(), Khz{800'000});

    frequency.broken.reset();
    loop.turn(at(seconds(2)));
    EXPECT_EQ(khz(), Khz{1'600'000});
}

TEST_F(LoopTest, goes_on_with_what_it_learned_while_the_store_is_broken) {
    profiles.broken = Error{"disk full"};
    Loop loop = this->loop();
    press(Key::Performance, milliseconds(400));
    loop.turn(at(seconds(1)));
    EXPECT_EQ(watcher.failures, std::vector<std::string>{"disk full"});

    focus.whom = Served{"bob", "glest"};
    loop.turn(at(seconds(2)));
    focus.whom = kAlice;
    frequency.khz[PolicyId{0}] = Khz{800'000};
    loop.turn(at(seconds(3)));
    EXPECT_EQ(khz(), Khz{1'200'000});
}

TEST_F(LoopTest, serves_a_profile_that_was_changed_from_outside_without_letting_go_of_the_machine) {
    Loop loop = this->loop();
    press(Key::Performance, milliseconds(400));
    loop.turn(at(seconds(1)));
    ASSERT_EQ(khz(), Khz{1'200'000});

    profiles.profiles.insert_or_assign(kAlice, Uafp(Khz{2'200'000}));
    loop.profiles_changed();
    EXPECT_EQ(khz(), Khz{1'200'000});
    loop.turn(at(seconds(2)));

    EXPECT_EQ(khz(), Khz{2'200'000});
    EXPECT_EQ(frequency.acquisitions, 1);
}

TEST_F(LoopTest, serves_nobody_whose_profile_cannot_be_read_and_so_overwrites_nothing) {
    for (const bool warm : {false, true}) {
        settings.algorithm.warm_start = warm;
        profiles.profiles.insert_or_assign(kAlice, Uafp(Khz{1'600'000}));
        profiles.unreadable = Error{"database is locked"};
        frequency.khz[PolicyId{0}] = Khz{800'000};
        watcher.failures.clear();
        Loop loop = this->loop();
        press(Key::Performance, milliseconds(400));
        loop.turn(at(seconds(1)));
        EXPECT_EQ(watcher.failures, std::vector<std::string>{"database is locked"});
        EXPECT_FALSE(frequency.acquired);
        EXPECT_TRUE(profiles.lessons.empty());

        profiles.unreadable.reset();
        loop.turn(at(seconds(2)));
        EXPECT_EQ(khz(), Khz{1'600'000});

        profiles.unreadable = Error{"database is locked"};
        focus.whom = Served{"bob", "torcs"};
        press(Key::Performance, milliseconds(2'400));
        loop.turn(at(seconds(3)));
        EXPECT_FALSE(frequency.acquired) << "nor by somebody else's";
        EXPECT_TRUE(profiles.lessons.empty());
        focus.whom = kAlice;
        profiles.unreadable.reset();
        loop.turn(at(seconds(4)));
        EXPECT_TRUE(frequency.acquired);
        frequency.acquired = false;
    }
}

TEST_F(LoopTest, decides_nothing_without_utilisation) {
    Loop loop = this->loop();
    utilisation.broken = Error{"/proc/stat: gone"};
    press(Key::Performance, milliseconds(400));
    loop.turn(at(seconds(1)));
    EXPECT_EQ(watcher.failures, std::vector<std::string>{"/proc/stat: gone"});
    EXPECT_EQ(khz(), Khz{800'000});
    EXPECT_TRUE(profiles.lessons.empty());
}

TEST_F(LoopTest, leaves_a_policy_alone_whose_cpus_are_off_line) {
    frequency.list.push_back({PolicyId{1}, {2, 3}, *Ladder::from(kT61)});
    frequency.khz[PolicyId{1}] = Khz{2'300'000};
    utilisation.cpus = {Ppm{0}, Ppm{0}, std::nullopt};  // and no CPU 3 at all
    Loop loop = this->loop();
    loop.turn(at(seconds(1)));
    EXPECT_EQ(frequency.khz.at(PolicyId{1}), Khz{2'300'000});
}

TEST_F(LoopTest, moves_the_policies_of_a_domain_together_by_the_speed_below_their_caps) {
    frequency.list = {{PolicyId{0}, {0}, *Ladder::from(kT61)}, {PolicyId{1}, {1}, *Ladder::from(kT61)}};
    frequency.khz = {{PolicyId{0}, Khz{2'300'000}}, {PolicyId{1}, Khz{2'300'000}}};
    frequency.ran_khz = {{PolicyId{0}, Khz{1'300'000}}};
    utilisation.cpus = {Ppm{900'000}, Ppm{0}};
    settings.domains = domains_of(frequency.list);
    profiles.profiles.insert_or_assign(kAlice, Uafp(Khz{2'300'000}));
    Loop loop = this->loop();
    press(Key::Power, milliseconds(400));

    loop.turn(at(seconds(1)));

    ASSERT_EQ(profiles.lessons.size(), 1U);
    EXPECT_EQ(profiles.lessons.front().second.level, Level{5}) << "90 % of 1.3 of 2.3 GHz";
    EXPECT_EQ(frequency.khz.at(PolicyId{0}), Khz{1'200'000});
    EXPECT_EQ(frequency.khz.at(PolicyId{1}), Khz{1'200'000});
}

TEST_F(LoopTest, tells_the_observer_what_every_cpu_of_every_policy_did) {
    frequency.list.push_back({PolicyId{1}, {2, 3}, *Ladder::from(kT61)});
    utilisation.cpus = {Ppm{1}, Ppm{2}, Ppm{3}, Ppm{4}};
    Loop loop = this->loop();
    const std::vector<std::vector<Ppm>> all{{Ppm{1}, Ppm{2}}, {Ppm{3}, Ppm{4}}};
    for (const int second : {1, 2}) {
        loop.turn(at(seconds(second)));
        EXPECT_EQ(watcher.cpus, all);
    }
}

TEST_F(LoopTest, keeps_its_rhythm_and_does_not_catch_up_after_a_stall) {
    Loop loop = this->loop();
    EXPECT_EQ(loop.due(), at(seconds(1)));
    loop.turn(at(milliseconds(1'010)));
    EXPECT_EQ(loop.due(), at(seconds(2)));
    loop.turn(at(milliseconds(7'300)));
    EXPECT_EQ(loop.due(), at(milliseconds(8'300)));
    loop.turn(at(milliseconds(9'300)));
    EXPECT_EQ(loop.due(), at(milliseconds(10'300))) << "a whole period late";
}

TEST_F(LoopTest, begins_a_new_period_after_a_time_without_turns) {
    settings.feedback = Feedback::Immediate;
    Loop loop = this->loop();
    loop.turn(at(seconds(1)));

    loop.begin(at(seconds(500)));

    EXPECT_EQ(loop.due(), at(seconds(501)));
    loop.pressed(at(seconds(500)));
    EXPECT_EQ(loop.due(), at(milliseconds(500'100))) << "the shortest sample is of the new period";
    EXPECT_EQ(utilisation.samples, 3);  // when it was made, at the turn, at the beginning
}

TEST_F(LoopTest, ends_the_sample_at_the_press_with_immediate_feedback) {
    settings.feedback = Feedback::Immediate;
    Loop loop = this->loop();
    press(Key::Performance, milliseconds(400));
    loop.pressed(at(milliseconds(400)));
    EXPECT_EQ(loop.due(), at(milliseconds(400)));
    loop.turn(at(milliseconds(400)));
    EXPECT_EQ(khz(), Khz{1'200'000});
    EXPECT_EQ(loop.due(), at(milliseconds(1'400)));

    loop.pressed(at(milliseconds(410)));
    EXPECT_EQ(loop.due(), at(milliseconds(500))) << "a sample of 10 ms is too short to learn from";
}

}  // namespace
}  // namespace happe
