// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/powerprofiles/profile_choice.h"

#include <gtest/gtest.h>

namespace happe {
namespace {

ProfileHold by(const char* holder, PowerProfile profile) {
    return {.profile = profile, .reason = "", .application = "game", .holder = holder, .interface = ""};
}

TEST(ProfileChoice, PowerSaverIsHeldBeforePerformanceWhoeverCameFirst) {
    for (const bool saver_first : {true, false}) {
        ProfileChoice choice(PowerProfile::Balanced);
        choice.hold(by(":1", saver_first ? PowerProfile::PowerSaver : PowerProfile::Performance));
        choice.hold(by(":2", saver_first ? PowerProfile::Performance : PowerProfile::PowerSaver));
        EXPECT_EQ(choice.active(), PowerProfile::PowerSaver);
        choice.left(saver_first ? ":1" : ":2");
        EXPECT_EQ(choice.active(), PowerProfile::Performance);
        EXPECT_EQ(choice.chosen(), PowerProfile::Balanced);
    }
}

TEST(ProfileChoice, AChoiceEndsAllHoldsAndIsWhatRemainsAfterLaterOnes) {
    ProfileChoice choice(PowerProfile::Balanced);
    choice.hold(by(":1", PowerProfile::Performance));
    choice.hold(by(":2", PowerProfile::PowerSaver));
    EXPECT_EQ(choice.choose(PowerProfile::PowerSaver).size(), 2U);
    EXPECT_TRUE(choice.holds().empty());

    const auto cookie = choice.hold(by(":1", PowerProfile::Performance));
    EXPECT_EQ(choice.active(), PowerProfile::Performance);
    EXPECT_EQ(choice.release(*cookie, ":1").size(), 1U);
    EXPECT_EQ(choice.active(), PowerProfile::PowerSaver);
}

TEST(ProfileChoice, AHoldIsItsHoldersAlone) {
    ProfileChoice choice(PowerProfile::Balanced);
    const auto cookie = choice.hold(by(":1", PowerProfile::Performance));
    EXPECT_TRUE(choice.release(*cookie, ":2").empty());
    EXPECT_TRUE(choice.left(":2").empty());
    EXPECT_EQ(choice.active(), PowerProfile::Performance);
}

TEST(ProfileChoice, AHolderHasSixteenHoldsAtMostAndOthersHaveTheirOwn) {
    ProfileChoice choice(PowerProfile::Balanced);
    for (std::size_t held = 0; held < ProfileChoice::kMostHolds; ++held) {
        EXPECT_TRUE(choice.hold(by(":1", PowerProfile::Performance)));
    }
    EXPECT_FALSE(choice.hold(by(":1", PowerProfile::Performance)));
    EXPECT_TRUE(choice.hold(by(":2", PowerProfile::Performance)));
    EXPECT_EQ(choice.left(":1").size(), ProfileChoice::kMostHolds);
    EXPECT_EQ(choice.holds().size(), 1U);
}

}  // namespace
}  // namespace happe
