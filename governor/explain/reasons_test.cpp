// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/explain/reasons.h"

#include <gtest/gtest.h>

namespace happe {
namespace {

LearningEvent lesson(std::int64_t seq, Key key, Khz to, bool probe = false) {
    return {.seq = seq, .lesson = {.key = key, .policy = {0}, .level = {3}, .to = to, .probe = probe}};
}

struct ReasonsTest : testing::Test {
    ReasonsTest() {
        state.policies = {{PolicyId{0}, {0, 1}, t61_ladder()}};
        state.profile = Uafp(Khz{1'600'000});
        state.targets = {{PolicyId{0}, Khz{1'600'000}}};
        state.sample = {{PolicyId{0}, Khz{1'600'000}, Ppm{500'000}, Level{3}}};
    }
    [[nodiscard]] std::string says() const {
        const auto found = reasons(state, events);
        return found ? why(*found, "torcs", "Monday", wording) + " " + what_next(*found, wording) : "";
    }

    Situation state;
    Wording wording{.frequency = [](Khz khz) { return std::to_string(khz.value / 1'000) + " MHz"; },
                    .level = [](Level level) { return "level " + std::to_string(level.value); }};
    std::vector<LearningEvent> events;
};

TEST_F(ReasonsTest, NamesTheNewestPressThatTaughtTheFrequency) {
    events = {lesson(1, Key::Performance, Khz{1'600'000}), lesson(2, Key::Power, Khz{1'600'000}),
              lesson(3, Key::Performance, Khz{2'200'000})};
    EXPECT_EQ(reasons(state, events)->taught->seq, 2);
    EXPECT_EQ(
        says(),
        "HAPPE gives torcs 1600 MHz at level 3, because you pressed \"save power\" on Monday. HAPPE tries nothing "
        "by itself: only key presses change what it has learned. \"Faster\" goes above 1600 MHz, and \"save power\" below "
        "1600 MHz.");
}

TEST_F(ReasonsTest, LeavesOutALessonThatWasUndone) {
    events = {lesson(1, Key::Performance, Khz{1'600'000}), lesson(2, Key::Power, Khz{1'600'000})};
    events.push_back({.seq = 3, .lesson = {.to = Khz{1'600'000}}, .undoes = 2});
    EXPECT_EQ(reasons(state, events)->taught->seq, 1);
}

TEST_F(ReasonsTest, SaysThatNobodyTaughtIt) {
    EXPECT_NE(says().find("because the history has no key press that taught it"), std::string::npos);
}

TEST_F(ReasonsTest, TellsOfAProbeAndWhatEndsIt) {
    state.descent = {.state = "probing", .restored = Khz{2'200'000}, .seconds = 41};
    EXPECT_EQ(
        says(),
        "HAPPE gives torcs 1600 MHz at level 3, because HAPPE tries less than the 2200 MHz that it had learned. If "
        "you press \"faster\", HAPPE goes back to at least 2200 MHz; otherwise it keeps 1600 MHz in 41 s.");
}

TEST_F(ReasonsTest, TellsWhenTheNextProbeComes) {
    state.descent = {.state = "waiting", .seconds = 90};
    events = {lesson(1, Key::Power, Khz{1'600'000}, true)};
    EXPECT_EQ(
        says(),
        "HAPPE gives torcs 1600 MHz at level 3, because HAPPE tried it on Monday, and you did not press "
        "\"faster\". HAPPE tries a lower frequency after 90 s more of use without a key press, where you can feel "
        "it. \"Faster\" goes above 1600 MHz, and \"save power\" below 1600 MHz.");
    state.limits = {{PolicyId{0}, Khz{800'000}, Khz{1'200'000}}};
    EXPECT_NE(says().find("HAPPE tries nothing lower under a limit that is lower already."), std::string::npos);
    state.limits.clear();
    state.profile = Uafp(Khz{800'000});
    state.targets[0].khz = Khz{800'000};
    EXPECT_NE(says().find("because this is the lowest frequency."), std::string::npos);
    state.descent = {.state = "unattended"};
    EXPECT_NE(says().find("because the desktop does not tell it that somebody is there."), std::string::npos);
}

TEST_F(ReasonsTest, TellsWhereAPressChangesNothing) {
    state.limits = {{PolicyId{0}, Khz{800'000}, Khz{1'200'000}}};
    EXPECT_NE(says().find("\"Faster\" changes nothing under this limit, and"), std::string::npos);
    EXPECT_EQ(at_the_top(state.limits, Khz{2'300'000}, wording.frequency),
              "This is the fastest: another program or the kernel allows only 1200 MHz.");
    state.limits[0].most = Khz{2'300'000};
    EXPECT_EQ(at_the_top(state.limits, Khz{2'300'000}, wording.frequency), "This is the fastest.") << "it is a floor";
    state.targets[0].khz = Khz{2'300'000};
    state.profile = Uafp(Khz{2'250'000});
    EXPECT_NE(says().find("\"Faster\" changes nothing, because this is the fastest, and"), std::string::npos);
}

TEST_F(ReasonsTest, NamesALimitThatHoldsAndWhoAsksForLess) {
    state.limits = {{PolicyId{0}, Khz{800'000}, Khz{1'200'000}}};
    EXPECT_NE(says().find("; another program or the kernel allows only 800 MHz to 1200 MHz."), std::string::npos);
    state.limits[0].most = Khz{1'600'000};
    EXPECT_EQ(says().find("allows only"), std::string::npos) << "it does not bind";

    state.saver = "GNOME";
    state.descent = {.state = "waiting", .seconds = 90};
    state.targets[0].khz = Khz{1'200'000};
    EXPECT_NE(says().find("one step less than learned, as GNOME asks. HAPPE tries nothing lower while GNOME asks"),
              std::string::npos);
}

TEST_F(ReasonsTest, FindsTheHeldLevelThatWasLookedUp) {
    Uafp uafp(Khz{800'000});
    uafp.learn(Level{6}, Khz{1'600'000});
    state.profile = uafp;
    EXPECT_EQ(reasons(state, events)->level, Level{6});
}

TEST_F(ReasonsTest, AreNoneIfNothingIsShown) {
    state.profile.reset();
    EXPECT_FALSE(reasons(state, events));
    state.profile = Uafp(Khz{1'600'000});
    state.sample.clear();
    EXPECT_FALSE(reasons(state, events));
}

}  // namespace
}  // namespace happe
