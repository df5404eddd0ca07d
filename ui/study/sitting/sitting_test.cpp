// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/sitting.h"

#include "ui/study/sitting/sitting_fixture.h"

#include <gtest/gtest.h>

namespace happe::study {
namespace {

TEST(Sitting, IsReadWithAllItsRuns) {
    const auto sitting = read_sitting(told_sitting({"complete", "planned"}).dump());
    ASSERT_TRUE(sitting) << sitting.error();
    EXPECT_EQ(sitting->participant, "4HT2XC0N");
    EXPECT_EQ(sitting->rating.highest, 5);
    EXPECT_EQ(sitting->guess->choices.front().key, "usual");
    ASSERT_EQ(sitting->runs.size(), 2U);
    EXPECT_EQ(sitting->runs[0].state, RunState::Complete);
    EXPECT_EQ(sitting->runs[1].command, (std::vector<std::string>{"torcs", "-s"}));
    EXPECT_EQ(sitting->runs[1].cpu, 0);
}

TEST(Sitting, MayAskForNoGuessAndPinToNoCpu) {
    auto told = told_sitting();
    told["guess"] = nullptr;
    told["runs"][0]["cpu"] = nullptr;
    told["later"] = "a field that this version does not know";
    const auto sitting = read_sitting(told.dump());
    ASSERT_TRUE(sitting) << sitting.error();
    EXPECT_FALSE(sitting->guess);
    EXPECT_FALSE(sitting->runs[0].cpu);
}

TEST(Sitting, ThatLacksSomethingIsRefusedWithItsName) {
    for (const char* field : {"participant", "study", "title", "handout_read", "rating", "guess", "runs"}) {
        auto told = told_sitting();
        told.erase(field);
        const auto sitting = read_sitting(told.dump());
        ASSERT_FALSE(sitting) << field;
        EXPECT_NE(sitting.error().find(field), std::string::npos) << sitting.error();
    }
    EXPECT_FALSE(read_sitting(""));
    EXPECT_FALSE(read_sitting("[]"));
}

TEST(Sitting, WithAStateScaleOrCommandThatCannotBeIsRefused) {
    EXPECT_FALSE(read_sitting(told_sitting({"flown"}).dump()));
    for (const int highest : {1, 12}) {
        auto told = told_sitting();
        told["rating"]["highest"] = highest;
        EXPECT_FALSE(read_sitting(told.dump())) << highest;
    }
    auto told = told_sitting();
    told["runs"][0]["command"] = nlohmann::json::array();
    EXPECT_FALSE(read_sitting(told.dump()));
}

}  // namespace
}  // namespace happe::study
