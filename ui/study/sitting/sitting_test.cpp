// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/sitting.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace happe::study {
namespace {

// A server's answer with a sitting of three runs.
nlohmann::json told_run(const std::string& code, const std::string& application, const std::string& state) {
    return {{"code", code},
            {"position", 1},
            {"application", application},
            {"name", "Torcs, a car race"},
            {"command", {"torcs", "-s"}},
            {"cpu", 0},
            {"seconds", 120},
            {"practice_seconds", 0},
            {"phase", "main"},
            {"state", state}};
}

nlohmann::json told_sitting(const std::vector<std::string>& states = {"planned", "planned", "planned"}) {
    nlohmann::json told = {
        {"participant", "4HT2XC0N"},
        {"study", "paper-a3"},
        {"title", "How a computer's speed is controlled"},
        {"handout_read", true},
        {"rating",
         {{"question", "How was it?"},
          {"lowest", 1},
          {"highest", 5},
          {"lowest_label", "least"},
          {"highest_label", "most"}}},
        {"guess", {{"question", "What was it?"}, {"choices", {{{"key", "usual"}, {"text", "The usual control"}}}}}},
        {"runs", nlohmann::json::array()}};
    for (std::size_t i = 0; i < states.size(); ++i) {
        told["runs"].push_back(told_run("RUN0000" + std::to_string(i), "torcs", states[i]));
    }
    return told;
}

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
    for (const char* field : {"participant", "study", "handout_read", "rating", "guess", "runs"}) {
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

Sitting sitting(const std::vector<std::string>& states = {"planned", "planned", "planned"}) {
    return read_sitting(told_sitting(states).dump()).value();
}

KnownRun known(std::size_t run, Step step) {
    return {.code = "RUN0000" + std::to_string(run), .start_id = "id", .governor_run = "", .step = step, .notes = {}};
}

void expect_next(const Sitting& told, const std::vector<KnownRun>& runs, Phase phase, std::size_t run) {
    const Next found = next(told, runs, {});
    EXPECT_EQ(found.phase, phase);
    EXPECT_EQ(found.run, run);
}

TEST(Steps, BeginWithTheHandout) {
    Sitting told = sitting();
    told.handout_read = false;
    expect_next(told, {}, Phase::Handout, 0);
}

TEST(Steps, ARunGoesThroughItsTurnsAndThenTheNextIsReady) {
    expect_next(sitting(), {}, Phase::Ready, 0);
    expect_next(sitting(), {known(0, Step::Starting)}, Phase::Ready, 0);
    expect_next(sitting(), {known(0, Step::Running)}, Phase::Interrupted, 0);
    expect_next(sitting(), {known(0, Step::Ended)}, Phase::Rate, 0);
    expect_next(sitting(), {known(0, Step::Rated)}, Phase::Guess, 0);
    expect_next(sitting(), {known(0, Step::Answered)}, Phase::Ready, 1);
}

TEST(Steps, TheLaptopKnowsMoreOfARunThanTheServerHasBeenTold) {
    expect_next(sitting({"started", "planned"}), {known(0, Step::Answered)}, Phase::Ready, 1);
    expect_next(sitting({"started", "planned"}), {known(0, Step::Rated)}, Phase::Guess, 0);
}

TEST(Steps, WithoutAJournalTheServersStatesDecide) {
    expect_next(sitting({"complete", "rated", "planned"}), {}, Phase::Ready, 2);
    expect_next(sitting({"complete", "started", "planned"}), {}, Phase::Ready, 1);
    expect_next(sitting({"complete", "complete", "rated"}), {}, Phase::Finished, 3);
}

TEST(Steps, AnAbortedRunIsWaitedForUntilAnotherIsInItsPlace) {
    expect_next(sitting(), {known(0, Step::Aborted)}, Phase::Stopped, 0);
    expect_next(sitting({"aborted", "planned"}), {}, Phase::Stopped, 0);
    expect_next(sitting({"aborted", "planned"}), {known(0, Step::Answered)}, Phase::Stopped, 0);
    Sitting replaced = sitting();
    replaced.runs[0].code = "ANOTHER0";
    expect_next(replaced, {known(0, Step::Aborted)}, Phase::Ready, 0);
}

TEST(Steps, EachApplicationIsPractisedOnceBeforeAnythingRuns) {
    Sitting told = sitting();
    told.runs[1].practice_seconds = 300;
    told.runs[1].application = "glest";
    told.runs[2].practice_seconds = 300;
    told.runs[2].application = "glest";
    expect_next(told, {}, Phase::Practice, 1);
    EXPECT_EQ(next(told, {}, {"glest"}).phase, Phase::Ready);
    EXPECT_EQ(next(told, {known(0, Step::Answered)}, {}).phase, Phase::Ready);
    told.runs[0].state = RunState::Complete;
    EXPECT_EQ(next(told, {}, {}).phase, Phase::Ready);
}

}  // namespace
}  // namespace happe::study
