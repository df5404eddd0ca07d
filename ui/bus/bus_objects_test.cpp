// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/bus/bus_objects.h"

#include <gtest/gtest.h>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

// A battery of 50 Wh that delivers 20 W.
QVariantMap discharging() {
    return {{"IsPresent", true}, {"State", 2U}, {"Energy", 50.0}, {"EnergyRate", 20.0}, {"TimeToEmpty", qint64{8000}}};
}

TEST(Battery, LastsAsLongAsUPowerSays) {
    EXPECT_EQ(battery_of(discharging()), (RealBattery{.joules = 180'000, .watts = 20, .remaining = 8000s}));
}

TEST(Battery, LastsItsEnergyByItsPowerWhereUPowerDoesNotSay) {
    QVariantMap battery = discharging();
    battery["TimeToEmpty"] = qint64{0};
    EXPECT_EQ(battery_of(battery)->remaining, Seconds(9000s));
}

TEST(Battery, HasNoTimeWhereNothingIsKnown) {
    QVariantMap battery = discharging();
    battery["TimeToEmpty"] = qint64{0};
    battery["EnergyRate"] = 0.0;
    EXPECT_EQ(battery_of(battery)->remaining, std::nullopt);
}

TEST(Battery, IsChargedAsUPowerSays) {
    QVariantMap battery = discharging();
    EXPECT_EQ(battery_of(battery)->charge, std::nullopt);
    battery["Percentage"] = 82.0;
    EXPECT_DOUBLE_EQ(battery_of(battery)->charge.value_or(0.0), 0.82);
}

TEST(Battery, IsNoneWhileItChargesIsFullOrIsMissing) {
    QVariantMap battery = discharging();
    for (const uint state : {0U, 1U, 3U, 4U, 5U, 6U}) {
        battery["State"] = state;
        EXPECT_EQ(battery_of(battery), std::nullopt) << state;
    }
    battery = discharging();
    battery["IsPresent"] = false;
    EXPECT_EQ(battery_of(battery), std::nullopt);
    EXPECT_EQ(battery_of({}), std::nullopt);
}

TEST(GovernorProperties, OfNoKindThatIsKnownAreNobodyServed) {
    const DaemonState governor = governor_of({{"Ladders", 7}, {"Targets", "none"}, {"Settings", QVariant()}});
    EXPECT_TRUE(governor.policies.empty());
    EXPECT_TRUE(governor.target_khz.empty());
}

TEST(Keys, AreTheTwoOfTheInterface) {
    EXPECT_EQ(key_of("performance"), Key::Performance);
    EXPECT_EQ(key_of("power"), Key::Power);
    EXPECT_EQ(key_of("other"), std::nullopt);
}

}  // namespace
}  // namespace happe::ui
