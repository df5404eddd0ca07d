// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/overlay_state.h"

#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <vector>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kFull = 1'000'000;  // ppm

// The T61 in a game: CPU 0 is busy, at 1.6 GHz.
DaemonState playing() {
    DaemonState governor;
    governor.application = "torcs";
    governor.policies = {{0, {800'000, 1'200'000, 1'600'000, 2'200'000, 2'300'000}, {0, 1}}};
    governor.target_khz = {{0, 1'600'000}};
    governor.samples = {{0, {1'600'000, kFull}}};
    return governor;
}

// The same a moment later: a key has moved the target.
DaemonState stepped(std::uint32_t khz) {
    DaemonState governor = playing();
    governor.target_khz = {{0, khz}};
    return governor;
}

DaemonState in_a_run() {
    DaemonState governor = playing();
    governor.run = "K7QX";
    return governor;
}

OverlayState simulated() {
    return OverlayState::simulated({});
}

// The state after a key that moved the target at this time.
OverlayState pressed(Key key, std::uint32_t khz, OverlayState state = simulated(), Moment at = 0s) {
    state.governor(playing(), 0s);
    state.key(key);
    state.governor(stepped(khz), at);
    return state;
}

TEST(OverlayState, ShowsNothingBeforeTheGovernorIsKnown) {
    EXPECT_EQ(simulated().shown(0s), std::nullopt);
    EXPECT_EQ(simulated().next_look(), std::nullopt);
    EXPECT_EQ(simulated().next_change(0s), std::nullopt);
}

TEST(OverlayState, TellsThatAPressFoundNothingFasterButNotOfAnEarlierPress) {
    OverlayState state = simulated();
    DaemonState governor = stepped(2'300'000);
    governor.fastest_us = 5;
    state.governor(governor, 0s);
    state.key(Key::Power);
    state.governor(governor, 1s);
    EXPECT_FALSE(state.shown(1s)->effect->fastest);
    governor.fastest_us = 6;
    governor.limit_khz = 1'600'000;
    state.key(Key::Performance);
    state.governor(governor, 2s);
    EXPECT_TRUE(state.shown(2s)->effect->fastest);
    EXPECT_EQ(state.shown(2s)->effect->limit_khz, 1'600'000);
}

TEST(OverlayState, ShowsTheTimeThatIsLeftAndTheStepOfTheLadder) {
    OverlayState state = simulated();
    state.governor(playing(), 0s);
    // 26.74 W for 2 h last 99.4 min at 32.27 W.
    EXPECT_EQ(state.shown(0s),
              (Shown{.remaining = 99min, .charge_percent = 100, .step = 3, .steps = 5, .khz = 1'600'000}));
}

TEST(OverlayState, LastsTwoHoursAtTheLowestFrequency) {
    OverlayState state = simulated();
    DaemonState lowest = stepped(800'000);
    lowest.samples = {{0, {800'000, kFull}}};
    state.governor(lowest, 0s);
    EXPECT_EQ(state.shown(0s)->remaining, 120min);
    EXPECT_EQ(state.shown(1h)->charge_percent, 50);
    EXPECT_EQ(state.shown(Moment(119min) + 59s)->remaining, 0min);
    EXPECT_EQ(state.shown(3h)->remaining, 0min);
    EXPECT_EQ(state.shown(3h)->charge_percent, 0);
}

TEST(OverlayState, CountsDownWithNobodyTellingItAnything) {
    OverlayState state = simulated();
    state.governor(playing(), 0s);
    const Moment change = *state.next_change(0s);
    EXPECT_EQ(state.shown(change - 10ms)->remaining, 99min);
    EXPECT_EQ(state.shown(change)->remaining, 98min);
    EXPECT_NEAR(state.next_change(change)->count() - change.count(), 60.0, 0.1);
}

TEST(OverlayState, AnEmptyBatteryChangesNoMore) {
    OverlayState state = simulated();
    state.governor(playing(), 0s);
    EXPECT_EQ(state.shown(10h)->remaining, 0min);
    EXPECT_EQ(state.next_change(10h), std::nullopt);
}

TEST(OverlayState, ThePowerKeyGivesTheTimeBetweenTheTwoFrequenciesAtTheUtilisationOfNow) {
    OverlayState state = pressed(Key::Power, 1'200'000);
    // 53.48 Wh: 112.4 min at 28.55 W, 99.4 at 32.27 W.
    EXPECT_EQ(state.shown(0s)->effect, (Effect{Key::Power, 1'600'000, 1'200'000, 13min}));
    EXPECT_EQ(state.shown(0s)->remaining, 112min);
}

TEST(OverlayState, ThePerformanceKeyTakesTime) {
    const OverlayState state = pressed(Key::Performance, 2'200'000);
    EXPECT_EQ(state.shown(0s)->effect, (Effect{Key::Performance, 1'600'000, 2'200'000, -20min}));  // 79.9 - 99.4
}

TEST(OverlayState, AKeyAtTheEndOfTheLadderGivesNothing) {
    OverlayState state = simulated();
    DaemonState lowest = stepped(800'000);
    lowest.samples = {{0, {800'000, kFull}}};
    state.governor(lowest, 0s);
    state.key(Key::Power);
    state.governor(lowest, 0s);
    EXPECT_EQ(state.shown(0s)->effect, (Effect{Key::Power, 800'000, 800'000, 0min}));
}

TEST(OverlayState, ShowsTheEffectForTenSeconds) {
    const OverlayState state = pressed(Key::Power, 1'200'000, simulated(), 5s);
    EXPECT_EQ(state.next_change(5s), 15s);
    EXPECT_TRUE(state.shown(14.9s)->effect);
    EXPECT_FALSE(state.shown(15s)->effect);
}

TEST(OverlayState, TheEffectOfAKeyStaysWhileTheUtilisationChanges) {
    OverlayState state = pressed(Key::Power, 1'200'000);
    DaemonState later = stepped(1'200'000);
    later.samples = {{0, {1'200'000, 900'000}}};
    state.governor(later, 1s);
    EXPECT_EQ(state.shown(1s)->effect->gained, 13min);
}

TEST(OverlayState, AnotherApplicationHasNotHadAKeyYet) {
    OverlayState state = pressed(Key::Power, 1'200'000);
    DaemonState other = stepped(1'200'000);
    other.application = "desktop";
    state.governor(other, 1s);
    EXPECT_FALSE(state.shown(1s)->effect);
}

TEST(OverlayState, ShowsNothingWhileNobodyIsServedOrHappedIsGoneAndDrainsNothing) {
    OverlayState state = simulated();
    state.governor(playing(), 0s);
    for (const auto& nobody : {std::optional<DaemonState>(), std::optional(DaemonState{})}) {
        state.governor(nobody, 0s);
        EXPECT_EQ(state.shown(0s), std::nullopt);
        EXPECT_EQ(state.next_look(), std::nullopt);
        EXPECT_EQ(state.next_change(0s), std::nullopt);
    }
    state.governor(playing(), 1h);
    EXPECT_EQ(state.shown(1h)->remaining, 99min);
}

TEST(OverlayState, AKeyOfSomebodyWhomWeMayNotSeeIsForgotten) {
    OverlayState state = simulated();
    state.key(Key::Power);
    state.governor(DaemonState{}, 0s);
    state.governor(playing(), 1s);
    EXPECT_FALSE(state.shown(1s)->effect);
}

TEST(OverlayState, LooksAgainAfterOneTwoFourSecondsAndSoOnToAMinute) {
    OverlayState state = simulated();
    state.governor(playing(), 0s);
    Moment now{};
    for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
        EXPECT_EQ(state.next_look(), now + Moment(pause));
        now = *state.next_look();
        state.governor(playing(), now);
    }
    state.governor(stepped(2'200'000), now);
    EXPECT_EQ(state.next_look(), now + 1s);
}

TEST(OverlayState, InARunItLooksEachSecondForNothingIsAnnounced) {
    OverlayState state = simulated();
    state.governor(in_a_run(), 0s);
    state.governor(in_a_run(), 1s);
    EXPECT_EQ(state.next_look(), Moment(2s));
}

TEST(OverlayState, ShowsNothingWhereNoIndicatorMayBe) {
    OverlayState state = simulated();
    DaemonState run = in_a_run();
    run.indicator = false;
    state.governor(run, 0s);
    EXPECT_EQ(state.shown(0s), std::nullopt);
    EXPECT_EQ(state.next_look(), std::nullopt);
}

TEST(OverlayState, ARunHasTheSimulatedBatteryWhateverIsSet) {
    OverlayState state = OverlayState::real({});
    state.governor(in_a_run(), 0s);
    EXPECT_EQ(state.shown(0s)->remaining, 99min);
    EXPECT_EQ(state.next_look(), Moment(1s));
    state.governor(playing(), 1s);
    EXPECT_EQ(state.shown(1s)->remaining, std::nullopt);
}

TEST(OverlayState, EachRunBeginsWithAFullBattery) {
    OverlayState state = simulated();
    state.governor(playing(), 0s);
    state.governor(in_a_run(), 30min);
    EXPECT_EQ(state.shown(30min)->remaining, 99min);
}

TEST(OverlayState, ShowsThePolicyOfTheHighestNormalisedUtilisation) {
    OverlayState state = simulated();
    DaemonState governor = playing();
    governor.policies.push_back({4, {1'000'000, 3'000'000}, {4}});
    governor.target_khz[4] = 3'000'000;
    governor.samples[4] = {3'000'000, 533'333};  // 1,599,999 kHz of use, beside 1,600,000
    state.governor(governor, 0s);
    EXPECT_EQ(state.shown(0s)->steps, 5U);
    governor.samples[4] = {3'000'000, 533'334};
    state.governor(governor, 0s);
    EXPECT_EQ(state.shown(0s)->steps, 2U);
}

TEST(OverlayState, ATieGoesToTheLowestPolicy) {
    OverlayState state = simulated();
    DaemonState governor = playing();
    governor.policies.push_back({4, {1'600'000, 3'200'000}, {4}});
    governor.target_khz[4] = 1'600'000;
    governor.samples[4] = {3'200'000, 500'000};
    state.governor(governor, 0s);
    EXPECT_EQ(state.shown(0s)->steps, 5U);
}

TEST(OverlayState, TakesAListedFrequencyForItsRealSpeed) {
    OverlayState state = simulated();
    DaemonState governor = stepped(2'201'000);
    governor.policies = {{0, {800'000, 1'200'000, 1'600'000, 2'200'000, 2'201'000}, {0, 1}}};
    governor.samples = {{0, {2'201'000, kFull}}};
    governor.real_khz = {{2'201'000, 2'300'000}};
    state.governor(governor, 0s);
    EXPECT_EQ(
        state.shown(0s),
        (Shown{.remaining = 71min, .charge_percent = 100, .step = 5, .steps = 5, .khz = 2'300'000}));  // at 45.04 W
}

TEST(OverlayState, AFrequencyThatTheLadderLacksIsTheNextStepOfIt) {
    OverlayState state = simulated();
    state.governor(stepped(1'300'000), 0s);
    EXPECT_EQ(state.shown(0s)->step, 3U);
    state.governor(stepped(9'000'000), 0s);
    EXPECT_EQ(state.shown(0s)->step, 5U);
}

TEST(OverlayState, ShowsWhatTheRealBatterySaysAndNeverLooksByItself) {
    OverlayState state = OverlayState::real({});
    state.governor(playing(), 0s);
    EXPECT_EQ(state.shown(0s)->remaining, std::nullopt);
    state.battery(RealBattery{.joules = 180'000, .watts = 20, .remaining = 9000s, .charge = 0.82}, 0s);
    EXPECT_EQ(state.shown(0s)->remaining, 150min);
    EXPECT_EQ(state.shown(0s)->charge_percent, 82);
    EXPECT_EQ(state.next_look(), std::nullopt);
    EXPECT_EQ(state.next_change(0s), std::nullopt);
}

TEST(OverlayState, ARealBatteryWithoutAModelKnowsNoGain) {
    OverlayState real = OverlayState::real({});
    real.battery(RealBattery{.joules = 180'000, .watts = 20, .remaining = 9000s}, 0s);
    const OverlayState state = pressed(Key::Power, 1'200'000, std::move(real));
    EXPECT_EQ(state.shown(0s)->effect, (Effect{Key::Power, 1'600'000, 1'200'000, std::nullopt}));
}

TEST(OverlayState, ARealBatteryGainsByTheModelsDifference) {
    OverlayState real = OverlayState::real(PowerModel::t61());
    real.battery(RealBattery{.joules = 180'000, .watts = 20, .remaining = 9000s}, 0s);
    const OverlayState state = pressed(Key::Power, 1'200'000, std::move(real));
    // 20 W less 3.72 W: 11056 s, not 9000.
    EXPECT_EQ(state.shown(0s)->effect->gained, 34min);
}

TEST(OverlayState, OnMainsThereIsNoTimeAndNoGain) {
    OverlayState real = OverlayState::real(PowerModel::t61());
    real.battery(std::nullopt, 0s);
    const OverlayState state = pressed(Key::Power, 1'200'000, std::move(real));
    EXPECT_FALSE(state.shown(0s)->on_battery);
    EXPECT_EQ(state.shown(0s)->remaining, std::nullopt);
    EXPECT_EQ(state.shown(0s)->effect->gained, std::nullopt);
}

// The model of a machine whose power does not depend on its load: 10 W at 800 MHz, 20 W at 2.3 GHz.
PowerModel own() {
    return *PowerModel::from({{0.0, 1.0}, {800'000, 2'300'000}, {{10.0, 10.0}, {20.0, 20.0}}});
}

// The watts that the graph shows, without its gaps.
std::vector<double> graph(const OverlayState& state, Moment now) {
    std::vector<double> known;
    for (const std::optional<double>& watts : state.shown(now)->power.value_or(Power{}).watts) {
        if (watts) {
            known.push_back(*watts);
        }
    }
    return known;
}

TEST(OverlayState, WithoutDetailsThereIsNoPowerAndNothingToRepaintForIt) {
    OverlayState state = OverlayState::real({});
    state.battery(RealBattery{.joules = 180'000, .watts = 20}, 0s);
    state.governor(playing(), 0s);
    EXPECT_FALSE(state.shown(0s)->details);
    EXPECT_EQ(state.shown(0s)->power, std::nullopt);
    EXPECT_EQ(state.next_change(0s), std::nullopt);
}

TEST(OverlayState, DetailsHaveThePowerThatTheRealBatteryMeasures) {
    OverlayState state = OverlayState::real(own(), true);
    state.battery(RealBattery{.joules = 180'000, .watts = 20}, 0s);
    state.governor(playing(), 0s);
    state.battery(RealBattery{.joules = 180'000, .watts = 12}, 60s);
    EXPECT_TRUE(state.shown(60s)->details);
    EXPECT_EQ(state.shown(60s)->power->from, Power::From::Battery);
    EXPECT_EQ(graph(state, 60s), (std::vector{20.0, 20.0, 12.0}));
    EXPECT_EQ(state.next_change(65s), 90s);
    EXPECT_EQ(state.next_look(), std::nullopt);
}

TEST(OverlayState, DetailsHaveThePowerOfTheMachinesModelWithTheSimulatedBattery) {
    OverlayState state = OverlayState::simulated(own(), true);
    state.governor(stepped(800'000), 0s);
    state.governor(stepped(2'300'000), 30s);
    EXPECT_EQ(state.shown(30s)->power->from, Power::From::Model);
    EXPECT_EQ(graph(state, 30s), (std::vector{10.0, 20.0}));
}

TEST(OverlayState, ThereIsNoGraphWithoutASourceOfPower) {
    OverlayState t61 = OverlayState::simulated({}, true);
    t61.governor(playing(), 0s);
    EXPECT_TRUE(t61.shown(0s)->details);
    EXPECT_EQ(t61.shown(0s)->power, std::nullopt);  // the T61's power is not this machine's

    OverlayState real = OverlayState::real(own(), true);
    real.governor(playing(), 0s);
    real.battery(RealBattery{.joules = 180'000, .watts = 0}, 0s);  // UPower does not know it
    EXPECT_EQ(real.shown(0s)->power, std::nullopt);
    real.battery(RealBattery{.joules = 180'000, .watts = 20}, 0s);
    EXPECT_TRUE(real.shown(0s)->power);
    real.battery(std::nullopt, 1s);  // on mains
    EXPECT_EQ(real.shown(1s)->power, std::nullopt);
    EXPECT_EQ(real.next_change(1s), std::nullopt);
}

TEST(OverlayState, WhileNobodyIsServedTheModelHasNoPowerAndTheBatteryHas) {
    OverlayState model = OverlayState::simulated(own(), true);
    OverlayState battery = OverlayState::real({}, true);
    battery.battery(RealBattery{.joules = 180'000, .watts = 20}, 0s);
    for (OverlayState* const state : {&model, &battery}) {
        state->governor(stepped(800'000), 0s);
        state->governor(std::nullopt, 30s);
        EXPECT_EQ(state->next_change(30s), std::nullopt);
        state->governor(stepped(800'000), 90s);
    }
    EXPECT_EQ(graph(model, 90s), (std::vector{10.0, 10.0}));
    EXPECT_EQ(graph(battery, 90s), (std::vector{20.0, 20.0, 20.0, 20.0}));
}

TEST(OverlayState, InARunThereAreNoDetails) {
    OverlayState state = OverlayState::simulated(own(), true);
    state.governor(playing(), 0s);
    EXPECT_TRUE(state.shown(0s)->power);
    state.governor(in_a_run(), 60s);
    EXPECT_FALSE(state.shown(60s)->details);
    EXPECT_EQ(state.shown(60s)->power, std::nullopt);
    state.governor(playing(), 120s);
    EXPECT_EQ(graph(state, 120s).size(), 1U);  // the graph begins again
}

TEST(OverlayState, AfterARunTheGraphHasNothingOfTheRun) {
    OverlayState state = OverlayState::real(own(), true);
    const RealBattery battery{.joules = 180'000, .watts = 20};
    state.governor(in_a_run(), 0s);
    state.battery(battery, 60s);
    state.governor(playing(), 120s);
    EXPECT_TRUE(state.shown(120s)->details);
    EXPECT_EQ(state.shown(120s)->power, std::nullopt);  // the battery's last report is from the run
    state.battery(battery, 150s);
    EXPECT_EQ(graph(state, 150s), std::vector{20.0});
}

}  // namespace
}  // namespace happe::ui
