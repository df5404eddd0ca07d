// SPDX-License-Identifier: GPL-2.0-or-later
// Each figure is worked out by hand from Table A.2.
#include "ui/overlay/saving.h"

#include <gtest/gtest.h>
#include <vector>

namespace happe::ui {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const std::vector<std::uint32_t> kSpeeds{800'000, 1'200'000, 1'600'000, 2'200'000, 2'300'000};
constexpr double kJoulesOfWattHour = 3600.0;

std::optional<Saving> saved(const std::vector<Spent>& spent) {
    return saving_of(spent, kSpeeds, PowerModel::t61());
}

TEST(UnderSchedutil, TheSpeedLeavesAFifthFree) {
    // 60 % of 1.6 GHz is 0.96 GHz of work; 1.25 times that is 1.2 GHz.
    const Spent kernel = under_schedutil({1'600'000, 0.60, minutes(1)}, kSpeeds);
    EXPECT_EQ(kernel.khz, 1'200'000U);
    EXPECT_DOUBLE_EQ(kernel.utilisation, 0.8);
    EXPECT_EQ(kernel.time, minutes(1));
    // A little more work needs the next speed.
    EXPECT_EQ(under_schedutil({1'600'000, 0.61, minutes(1)}, kSpeeds).khz, 1'600'000U);
}

TEST(UnderSchedutil, ABusyCpuGetsAllAndStaysBusy) {
    EXPECT_EQ(under_schedutil({800'000, 0.99, minutes(1)}, kSpeeds), (Spent{2'300'000, 1.0, minutes(1)}));
}

TEST(UnderSchedutil, NothingIsFasterThanTheLastSpeed) {
    EXPECT_EQ(under_schedutil({2'300'000, 0.95, minutes(1)}, kSpeeds), (Spent{2'300'000, 0.95, minutes(1)}));
}

TEST(SavingOf, AGameAtLessThanTopSpeedSaves) {
    // 45.04 W at 2.3 GHz, 28.55 W at 1.2 GHz, both busy: 16.49 Wh in an hour, which last 34.66 minutes at 28.55 W.
    const auto saving = saved({{1'200'000, 1.0, hours(1)}});
    ASSERT_TRUE(saving);
    EXPECT_NEAR(saving->joules / kJoulesOfWattHour, 16.49, 1e-9);
    EXPECT_NEAR(saving->watts, 28.55, 1e-9);
    EXPECT_NEAR(saving->time().count() / 60, 16.49 / 28.55 * 60, 1e-9);
}

TEST(SavingOf, TimesAtTheKernelsOwnSpeedSaveNothing) {
    // 50 % of 0.8 GHz is 0.4 GHz of work: the lowest speed is enough for the kernel, too.
    EXPECT_NEAR(saved({{800'000, 0.5, hours(1)}})->joules, 0.0, 1e-9);
}

TEST(SavingOf, AFastIdleCpuCostsMoreThanWithTheKernelsGovernor) {
    // 10 % of 2.3 GHz are 28.75 % of 0.8 GHz: 25.22 W - 0.875 * 0.19 W there, 32.01 W here. An hour of the game above
    // makes up for it.
    const double lost = 32.01 - (25.22 - 0.875 * 0.19);
    EXPECT_NEAR(saved({{2'300'000, 0.1, hours(1)}})->joules / kJoulesOfWattHour, -lost, 1e-9);
    const auto both = saved({{2'300'000, 0.1, hours(1)}, {1'200'000, 1.0, hours(1)}});
    EXPECT_NEAR(both->joules / kJoulesOfWattHour, 16.49 - lost, 1e-9);
    EXPECT_NEAR(both->watts, (32.01 + 28.55) / 2, 1e-9);
}

TEST(SavingOf, IsUnknownWhereNoTimeWasSpent) {
    EXPECT_FALSE(saved({}));
    EXPECT_FALSE(saved({{800'000, 0.5, Seconds::zero()}}));
    EXPECT_FALSE(saving_of(std::vector<Spent>{{800'000, 0.5, hours(1)}}, {}, PowerModel::t61()));
}

}  // namespace
}  // namespace happe::ui
