// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/power_history.h"

#include <gtest/gtest.h>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

using Steps = std::vector<std::optional<double>>;

// All steps except the first, unknown ones.
Steps newest(Steps steps) {
    EXPECT_EQ(steps.size(), PowerHistory::kSlots);
    std::erase(steps, std::nullopt);
    return steps;
}

TEST(PowerHistory, KnowsNothingAtFirst) {
    EXPECT_EQ(PowerHistory().steps(0s), Steps(20));
}

TEST(PowerHistory, HasTheMeanOfEachHalfMinuteAndThePowerOfNow) {
    PowerHistory history;
    history.becomes(10.0, 0s);
    history.becomes(40.0, 20s);  // 200 J, then 400 J
    history.becomes(12.0, 30s);
    history.becomes(9.0, 70s);
    EXPECT_EQ(newest(history.steps(70s)), (Steps{20.0, 12.0, 9.0}));
}

TEST(PowerHistory, MovesOnWhileThePowerStays) {
    PowerHistory history;
    history.becomes(10.0, 15s);
    EXPECT_EQ(newest(history.steps(29s)), (Steps{10.0}));
    EXPECT_EQ(PowerHistory::next_step(29s), 30s);
    EXPECT_EQ(newest(history.steps(30s)), (Steps{10.0, 10.0}));
    EXPECT_EQ(PowerHistory::next_step(30s), 60s);
}

TEST(PowerHistory, ForgetsWhatIsOlderThanTenMinutes) {
    PowerHistory history;
    history.becomes(50.0, 0s);
    history.becomes(10.0, 30s);
    EXPECT_EQ(history.steps(599s).front(), 50.0);
    EXPECT_EQ(history.steps(600s), Steps(20, 10.0));
    history.becomes(11.0, 24h);
    EXPECT_EQ(history.steps(24h).front(), 10.0);
}

TEST(PowerHistory, HasAGapWhereThePowerWasNotKnown) {
    PowerHistory history;
    history.becomes(10.0, 0s);
    history.becomes(std::nullopt, 40s);
    history.becomes(20.0, 95s);
    const Steps steps = history.steps(95s);
    // 40 to 60 s is unknown: the other ten seconds give the mean.
    EXPECT_EQ(Steps(steps.end() - 4, steps.end()), (Steps{10.0, 10.0, std::nullopt, 20.0}));
    history.becomes(std::nullopt, 700s);
    EXPECT_EQ(history.steps(2000s), Steps(20));
}

}  // namespace
}  // namespace happe::ui
