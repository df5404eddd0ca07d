// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/battery_model.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

// Table A.2, typed from the paper a second time, so that the test checks the file and not only its reader.
struct Row {
    std::uint32_t khz;
    std::array<double, 11> watts;
};
constexpr std::array kTableA2{
    Row{800'000, {24.40, 24.80, 25.22, 25.03, 25.37, 25.81, 25.81, 26.41, 26.60, 26.69, 26.74}},
    Row{1'200'000, {25.73, 26.02, 26.34, 25.95, 26.92, 27.40, 27.80, 27.92, 27.94, 28.15, 28.55}},
    Row{1'600'000, {26.14, 26.73, 27.30, 27.93, 28.55, 29.51, 29.86, 30.00, 30.50, 31.19, 32.27}},
    Row{2'200'000, {29.35, 30.01, 30.81, 31.91, 32.77, 33.79, 34.87, 36.00, 37.25, 38.52, 40.18}},
    Row{2'300'000, {30.72, 32.01, 33.07, 34.75, 35.55, 36.78, 39.06, 40.52, 42.24, 43.62, 45.04}},
};

const std::string kModel = R"({"format": "happe-power-model/1", "machine": "a laptop", "measured": "2026-11-21",
    "utilisations_percent": [0, 100], "frequencies_khz": [1000000, 2000000], "watts": [[10, 20], [30, 60]]})";

std::string with(const std::string& text, const std::string& replaced) {
    const std::size_t at = kModel.find(text);
    return std::string(kModel).replace(at, text.size(), replaced);  // throws where the text is not there
}

std::string refusal(const std::string& document) {
    const auto read = PowerModel::parse(document);
    return read ? "read" : read.error();
}

TEST(PowerModel, IsWithinOnePercentOfTableA2AtEachOfItsPoints) {
    for (const auto& [khz, watts] : kTableA2) {
        for (std::size_t tenth = 0; tenth < watts.size(); ++tenth) {
            const double paper = watts.at(tenth);
            EXPECT_NEAR(PowerModel::t61().watts(khz, 0.1 * double(tenth)), paper, 0.01 * paper) << khz << " " << tenth;
        }
    }
    EXPECT_EQ(PowerModel::t61().table().watts.size(), kTableA2.size());
}

TEST(PowerModel, IsBilinearBetweenItsPointsAndFlatBeyondItsEdges) {
    const auto square = PowerModel::parse(kModel);
    ASSERT_TRUE(square) << square.error();
    EXPECT_DOUBLE_EQ(square->watts(1'000'000, 0.5), 15.0);
    EXPECT_DOUBLE_EQ(square->watts(1'500'000, 0.0), 20.0);
    EXPECT_DOUBLE_EQ(square->watts(1'500'000, 0.25), (12.5 + 37.5) / 2);
    EXPECT_DOUBLE_EQ(square->watts(100'000, -1.0), 10.0);
    EXPECT_DOUBLE_EQ(square->watts(9'000'000, 2.0), 60.0);
}

TEST(PowerModel, OfOneFrequencyIsThatOneEverywhere) {
    EXPECT_DOUBLE_EQ(PowerModel::from({{0.0, 1.0}, {1'000'000}, {{10.0, 20.0}}})->watts(3'000'000, 0.5), 15.0);
}

TEST(PowerModel, NamesTheFieldThatIsWrong) {
    EXPECT_EQ(refusal(with("model/1", "model/2")), "format: \"happe-power-model/1\" is wanted");
    EXPECT_EQ(refusal(with("\"machine\": \"a laptop\", ", "")), "machine: is missing");
    EXPECT_EQ(refusal(with("\"machine\"", "\"colour\": 1, \"machine\"")), "colour: is no field of a power model");
    for (const char* const percent : {"[0, 120]", "[0]", "[100, 0]", "[-1, 100]"}) {
        EXPECT_EQ(refusal(with("[0, 100]", percent)),
                  "utilisations: two or more are wanted, ascending, from 0 to 100 percent");
    }
    EXPECT_EQ(refusal(with("[0, 100]", "[0, null]")), "utilisations_percent: a list of numbers is wanted");
    EXPECT_EQ(refusal(with("[1000000,", "[1000000.5,")), "frequencies_khz: whole numbers are wanted");
    EXPECT_EQ(refusal(with("[1000000,", "[3000000,")), "frequencies: one or more are wanted, in kHz, ascending");
    for (const char* const row : {"[30]", "[30, -2]"}) {
        EXPECT_EQ(refusal(with("[30, 60]", row)),
                  "watts: in each row, a figure above 0 for each utilisation is wanted");
    }
    EXPECT_EQ(refusal(with("[30, 60]", "[30, \"60\"]")), "watts: a list of numbers is wanted");
    EXPECT_EQ(refusal(with(", [30, 60]", "")), "watts: a row for each frequency is wanted");
    EXPECT_NE(refusal("{,}"), "read");
    EXPECT_NE(refusal("[]"), "read");
}

TEST(PowerModel, NamesItsFileInErrors) {
    const std::string path = testing::TempDir() + "model-" + std::to_string(::getpid());
    EXPECT_EQ(PowerModel::read(path).error(), path + ": No such file or directory");
    std::ofstream(path) << kModel;
    EXPECT_TRUE(PowerModel::read(path));
    std::ofstream(path) << std::string(1'100'000, ' ');
    EXPECT_EQ(PowerModel::read(path).error(), path + ": is longer than 1 MiB");
    std::filesystem::remove(path);
}

TEST(SimulatedBattery, LastsTwoHoursAtTheLowestFrequencyAndFullUtilisation) {
    SimulatedBattery battery(PowerModel::t61());
    EXPECT_DOUBLE_EQ(remaining(battery.joules(), 26.74).count(), 7200.0);
    battery.draw(26.74, 90min);
    EXPECT_NEAR(remaining(battery.joules(), 26.74).count(), 1800.0, 1e-6);
}

TEST(SimulatedBattery, NeverLastsLessThanTwoHoursAtTheLowestFrequency) {
    const SimulatedBattery battery(PowerModel::t61());
    for (int percent = 0; percent <= 100; ++percent) {
        EXPECT_GE(remaining(battery.joules(), PowerModel::t61().watts(800'000, percent / 100.0)), Seconds(2h));
    }
}

TEST(SimulatedBattery, IsEmptyWhenItIsEmptyAndFullWhenRefilled) {
    SimulatedBattery battery(PowerModel::t61());
    battery.draw(45.04, 10h);
    EXPECT_EQ(battery.joules(), 0.0);
    EXPECT_EQ(remaining(battery.joules(), 45.04), Seconds::zero());
    battery.refill();
    EXPECT_EQ(battery.joules(), battery.full());
}

TEST(SimulatedBattery, IsNotChargedByTimeThatRunsBackwards) {
    SimulatedBattery battery(PowerModel::t61());
    battery.draw(45.04, -10s);
    battery.draw(-1.0, 10s);
    EXPECT_EQ(battery.joules(), battery.full());
}

TEST(Remaining, IsBoundedWhereNothingIsDrawn) {
    EXPECT_EQ(remaining(1000.0, 0.0), kLongest);
    EXPECT_EQ(remaining(1e12, 1.0), kLongest);
}

TEST(Gained, IsTheDifferenceOfTheRemainingTimes) {
    // 53.48 Wh: at 32.27 W 5966 s, at 28.55 W 6743 s.
    const double joules = SimulatedBattery(PowerModel::t61()).joules();
    EXPECT_NEAR(gained(joules, 32.27, 28.55).count(), 6743.6 - 5966.2, 0.1);
    EXPECT_NEAR(gained(joules, 28.55, 32.27).count(), 5966.2 - 6743.6, 0.1);
    EXPECT_EQ(gained(joules, 30.0, 30.0), Seconds::zero());
}

const std::vector<std::uint32_t> kSpeeds{800'000, 1'200'000, 1'600'000, 2'200'000, 2'300'000};
constexpr double kJoulesOfWattHour = 3600.0;

std::optional<Saving> saved(const std::vector<Spent>& spent) {
    return saving_of(spent, kSpeeds, PowerModel::t61());
}

TEST(UnderSchedutil, TheSpeedLeavesAFifthFree) {
    // 60 % of 1.6 GHz is 0.96 GHz of work; 1.25 times that is 1.2 GHz.
    const Spent kernel = under_schedutil({1'600'000, 0.60, 1min}, kSpeeds);
    EXPECT_EQ(kernel.khz, 1'200'000U);
    EXPECT_DOUBLE_EQ(kernel.utilisation, 0.8);
    EXPECT_EQ(kernel.time, 1min);
    // A little more work needs the next speed.
    EXPECT_EQ(under_schedutil({1'600'000, 0.61, 1min}, kSpeeds).khz, 1'600'000U);
}

TEST(UnderSchedutil, ABusyCpuGetsAllAndStaysBusy) {
    EXPECT_EQ(under_schedutil({800'000, 0.99, 1min}, kSpeeds), (Spent{2'300'000, 1.0, 1min}));
}

TEST(UnderSchedutil, NothingIsFasterThanTheLastSpeed) {
    EXPECT_EQ(under_schedutil({2'300'000, 0.95, 1min}, kSpeeds), (Spent{2'300'000, 0.95, 1min}));
}

TEST(SavingOf, AGameAtLessThanTopSpeedSaves) {
    // 45.04 W at 2.3 GHz, 28.55 W at 1.2 GHz, both busy: 16.49 Wh in an hour, which last 34.66 minutes at 28.55 W.
    const auto saving = saved({{1'200'000, 1.0, 1h}});
    ASSERT_TRUE(saving);
    EXPECT_NEAR(saving->joules / kJoulesOfWattHour, 16.49, 1e-9);
    EXPECT_NEAR(saving->watts, 28.55, 1e-9);
    EXPECT_NEAR(saving->time().count() / 60, 16.49 / 28.55 * 60, 1e-9);
}

TEST(SavingOf, TimesAtTheKernelsOwnSpeedSaveNothing) {
    // 50 % of 0.8 GHz is 0.4 GHz of work: the lowest speed is enough for the kernel, too.
    EXPECT_NEAR(saved({{800'000, 0.5, 1h}})->joules, 0.0, 1e-9);
}

TEST(SavingOf, AFastIdleCpuCostsMoreThanWithTheKernelsGovernor) {
    // 10 % of 2.3 GHz are 28.75 % of 0.8 GHz: 25.22 W - 0.875 * 0.19 W there, 32.01 W here. An hour of the game above
    // makes up for it.
    const double lost = 32.01 - (25.22 - 0.875 * 0.19);
    EXPECT_NEAR(saved({{2'300'000, 0.1, 1h}})->joules / kJoulesOfWattHour, -lost, 1e-9);
    const auto both = saved({{2'300'000, 0.1, 1h}, {1'200'000, 1.0, 1h}});
    EXPECT_NEAR(both->joules / kJoulesOfWattHour, 16.49 - lost, 1e-9);
    EXPECT_NEAR(both->watts, (32.01 + 28.55) / 2, 1e-9);
}

TEST(SavingOf, IsUnknownWhereNoTimeWasSpent) {
    EXPECT_FALSE(saved({}));
    EXPECT_FALSE(saved({{800'000, 0.5, Seconds::zero()}}));
    EXPECT_FALSE(saving_of(std::vector<Spent>{{800'000, 0.5, 1h}}, {}, PowerModel::t61()));
}

}  // namespace
}  // namespace happe::ui
