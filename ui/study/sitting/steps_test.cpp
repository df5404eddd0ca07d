// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/steps.h"

#include "ui/study/sitting/sitting_fixture.h"

#include <gtest/gtest.h>

namespace happe::study {
namespace {

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
