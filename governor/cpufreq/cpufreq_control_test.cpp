// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/cpufreq_control.h"
#include "governor/cpufreq/cpufreq.h"
#include "governor/cpufreq/cpufreq_fake.h"

#include <gtest/gtest.h>

namespace happe {
namespace {

using Control = ControlTest;

TEST_F(Control, CannotBeWithoutPolicies) {
    EXPECT_FALSE(CpufreqControl::open(kernel, {.found = file, .speeds = {}}));
}

TEST_F(Control, TakesEveryPolicyAndRemembersFirstWhatItFound) {
    given_a_t61();
    good(control->acquire());
    EXPECT_EQ(policy(0).governor, "userspace");
    EXPECT_EQ(policy(1).governor, "userspace");
    const auto found = load_found(file);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 2U);
    EXPECT_EQ(found->front().found.governor, "ondemand");
    EXPECT_EQ(found->front().tunables.at("up_threshold"), "80");
}

TEST_F(Control, WritesNothingWhenWhatItFoundCannotBeKept) {
    given_a_t61();
    file = directory.path() / "none" / "found.json";
    open();
    EXPECT_FALSE(control->acquire());
    EXPECT_EQ(policy(0).writes + policy(1).writes, 0);
    EXPECT_FALSE(control->set({0}, kHigh));
}

TEST_F(Control, GivesBackThePoliciesItTookWhenOneIsRefused) {
    given_a_t61();
    kernel.refused["policy1/scaling_governor"] = "Invalid argument";
    EXPECT_EQ(error_of(control->acquire()), "policy1/scaling_governor: Invalid argument");
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_EQ(kernel.shared["ondemand"]["up_threshold"], "80");
    EXPECT_FALSE(is_file_there());
    EXPECT_FALSE(control->set({0}, kHigh));
}

TEST_F(Control, SetsTheFrequencyAndSaysWhatTheKernelMadeOfIt) {
    given_a_t61();
    good(control->acquire());
    good(control->set({0}, kHigh));
    good(control->set({1}, kMiddle));
    EXPECT_EQ(runs_at(0), kHigh);
    EXPECT_EQ(control->current({1}), kMiddle);
    policy(0).kernel_max = kMiddle;  // the firmware's limit
    EXPECT_EQ(control->current({0}), kHigh) << "as it was last looked at";
    good(control->keep_up(MonoTime()));
    EXPECT_EQ(control->current({0}), kMiddle);
}

TEST_F(Control, SaysWhatThePolicyRunsAtWhileItIsTheKernels) {
    given_a_t61();
    policy(0).runs_at = {1'987'654};
    EXPECT_EQ(control->current({0}), Khz{1'987'654});
    good(control->acquire());
    good(control->set({0}, kHigh));
    good(control->release());
    EXPECT_EQ(control->current({0}), Khz{1'987'654});
    kernel.off_line(0);
    EXPECT_EQ(control->current({0}), std::nullopt);
}

TEST_F(Control, SetsNothingThatIsNotItsOwn) {
    given_a_t61();
    EXPECT_EQ(error_of(control->set({0}, kHigh)), "policy0: not acquired");
    good(control->acquire());
    EXPECT_EQ(error_of(control->set({7}, kHigh)), "policy7: not acquired");
}

TEST_F(Control, SaysWhyAFrequencyWasRefused) {
    given_a_t61();
    good(control->acquire());
    good(control->set({0}, kHigh));
    policy(0).setspeed = kLowest;
    kernel.refused["policy0/scaling_setspeed"] = "Input/output error";
    EXPECT_EQ(error_of(control->set({0}, kMiddle)), "policy0/scaling_setspeed: Input/output error");
    EXPECT_EQ(control->current({0}), kLowest) << "what was seen before the refusal is no news";
    kernel.refused.clear();
    kernel.off_line(0);
    good(control->set({0}, kMiddle));
}

TEST_F(Control, GivesBackWhenItEnds) {
    given_a_t61();
    good(control->acquire());
    control.reset();
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_FALSE(is_file_there());
}

TEST_F(Control, KeepsWhatCouldNotBeGivenBackAndTriesAgain) {
    given_a_t61();
    good(control->acquire());
    kernel.refused["policy0/scaling_governor"] = "Input/output error";
    EXPECT_EQ(error_of(control->release()), "policy0/scaling_governor: Input/output error");
    EXPECT_EQ(policy(1).governor, "ondemand");
    EXPECT_TRUE(is_file_there());
    kernel.refused.clear();
    good(control->release());
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_FALSE(is_file_there());
}

TEST_F(Control, GivesBackFirstWhatAProcessBeforeItLeft) {
    given_a_t61();
    good(control->acquire());
    const std::string left = text_of(file);
    good(control->release());
    for (const std::uint16_t id : std::initializer_list<std::uint16_t>{0, 1}) {  // as after kill -9
        policy(id).governor = "userspace";
    }
    put_text(file, left);
    kernel.shared.clear();
    open();
    good(control->acquire());
    good(control->release());
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_EQ(kernel.shared["ondemand"]["up_threshold"], "80");
}

TEST_F(Control, TouchesNothingWhileItCannotReadWhatAProcessBeforeItLeft) {
    given_a_t61();
    put_text(file, "{");
    EXPECT_FALSE(control->acquire());
    EXPECT_EQ(policy(0).writes, 0);
}

TEST_F(Control, RemembersWhatAProcessBeforeItFoundOnAPolicyThatIsStillOffLine) {
    given_a_t61();
    good(control->acquire());
    kernel.off_line(1);
    good(control->release());
    open();
    good(control->acquire());
    good(control->release());
    kernel.on_line(1);
    good(control->release());
    EXPECT_EQ(policy(1).governor, "ondemand");
    EXPECT_FALSE(is_file_there());
}

TEST_F(Control, LendsTheMachineToAKernelGovernor) {
    given_a_t61();
    good(control->lend({.name = "ondemand", .tunables = {{"sampling_rate", "80000"}, {"up_threshold", "70"}}}));
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_EQ(kernel.shared["ondemand"], (Tunables{{"sampling_rate", "80000"}, {"up_threshold", "70"}}));
    policy(0).runs_at = kMiddle;
    EXPECT_EQ(control->current({0}), kMiddle);
    good(control->release());
    EXPECT_EQ(kernel.shared["ondemand"], (Tunables{{"sampling_rate", "10000"}, {"up_threshold", "80"}}));
}

TEST_F(Control, LendsNothingToAGovernorThatIsNotThere) {
    given_a_t61();
    EXPECT_EQ(error_of(control->lend({.name = "interactive", .tunables = {}})),
              "policy0/scaling_governor: Invalid argument");
    EXPECT_EQ(error_of(control->lend({.name = "ondemand", .tunables = {{"threshold", "1"}}})),
              "ondemand/threshold: No such file or directory");
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_FALSE(is_file_there());
}

TEST_F(Control, GovernsAfterItHasLent) {
    given_a_t61();
    good(control->lend({.name = "performance", .tunables = {}}));
    good(control->acquire());
    EXPECT_EQ(policy(0).governor, "userspace");
    good(control->release());
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_EQ(kernel.shared["ondemand"]["up_threshold"], "80");
}

TEST_F(Control, FixesEveryPolicyAtAStepOfItsLadder) {
    given_a_t61();
    good(control->fix(2));
    EXPECT_EQ(runs_at(0), kMiddle);
    EXPECT_EQ(runs_at(1), kMiddle);
    good(control->fix(99));
    EXPECT_EQ(runs_at(1), kTop);
    good(control->release());
    EXPECT_EQ(policy(1).governor, "ondemand");
}

TEST_F(Control, ReleasesEveryPolicyWhenOneCannotBeFixed) {
    given_a_t61();
    kernel.refused["policy1/scaling_setspeed"] = "Input/output error";
    EXPECT_EQ(error_of(control->fix(2)), "policy1/scaling_setspeed: Input/output error");
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_EQ(policy(1).governor, "ondemand");
    EXPECT_EQ(kernel.shared["ondemand"]["up_threshold"], "80");
    EXPECT_FALSE(is_file_there());
    EXPECT_FALSE(control->set({0}, kHigh));
}

TEST_F(Control, CapsWhereThereIsNoUserspace) {
    given_a_pstate();
    EXPECT_EQ(control->backend(), Backend::Cap);
    good(control->acquire());
    EXPECT_EQ(policy(0).writes, 0);
    EXPECT_EQ(control->current({0}), Khz{4'200'000});
    good(control->set({0}, {1'700'000}));
    EXPECT_EQ(policy(0).user_max, Khz{1'700'000});
    EXPECT_EQ(policy(0).governor, "powersave");
    EXPECT_EQ(control->current({0}), Khz{1'700'000});
    good(control->release());
    EXPECT_EQ(policy(0).user_max, kNoLimit);
    EXPECT_FALSE(is_file_there());
}

TEST_F(Control, SaysHowFastAPolicyLastRanBelowItsCap) {
    given_a_pstate();
    EXPECT_EQ(speed(), std::nullopt) << "the driver's own business";
    good(control->acquire());
    good(control->set({0}, Khz{2'100'000}));
    const auto speed_at = [this](Khz shown) {
        policy(0).runs_at = shown;
        good(control->keep_up(MonoTime()));
        return speed();
    };
    EXPECT_EQ(speed_at(Khz{400'000}), std::nullopt) << "idle: the lower limit";
    EXPECT_EQ(speed_at(Khz{1'234'567}), Khz{1'234'567});
    EXPECT_EQ(control->current({0}), Khz{2'100'000}) << "the cap";
    EXPECT_EQ(speed_at(Khz{400'000}), Khz{1'234'567}) << "idle again";
    policy(0).user_min = Khz{800'000};  // another program's limit; the next write of a cap notices it
    good(control->set({0}, Khz{1'700'000}));
    policy(0).runs_at = Khz{800'000};
    EXPECT_EQ(speed(), std::nullopt) << "another cap, another speed";
    EXPECT_EQ(speed_at(Khz{800'000}), std::nullopt);
    EXPECT_EQ(speed_at(Khz{400'000}), Khz{400'000});
    good(control->release());
    EXPECT_EQ(speed(), std::nullopt);
}

TEST_F(Control, ForgetsHowFastAPolicyRanOnceWorkHasMovedToAnother) {
    using Speeds = std::vector<std::optional<Khz>>;
    const std::vector<Ppm> both{Ppm{500'000}, Ppm{500'000}};
    kernel.add_pstate(0, {0}).runs_at = Khz{1'000'000};
    kernel.add_pstate(1, {1});
    open();
    good(control->acquire());
    EXPECT_EQ(speeds(both), (Speeds{Khz{1'000'000}, std::nullopt}));
    policy(0).runs_at = Khz{400'000};
    policy(1).runs_at = Khz{3'000'000};
    EXPECT_EQ(speeds(both), (Speeds{std::nullopt, Khz{3'000'000}}));
}

TEST_F(Control, AsksForNoMoreSpeedsThanTheLevelNeeds) {
    using Speeds = std::vector<std::optional<Khz>>;
    constexpr Khz kTopSpeed{4'200'000};
    for (const unsigned id : {0U, 1U, 2U}) {
        kernel.add_pstate(static_cast<std::uint16_t>(id), {id}).runs_at = kTopSpeed;
    }
    open();
    good(control->acquire());
    EXPECT_EQ(speeds({Ppm{500'000}, Ppm{9'999}, Ppm{10'000}}), (Speeds{kTopSpeed, std::nullopt, kTopSpeed}))
        << "less than 1 % is idle";
    EXPECT_EQ(speeds({Ppm{0}, Ppm{1'000}, Ppm{500}}), (Speeds{std::nullopt, kTopSpeed, std::nullopt}))
        << "the busiest, however idle";
    EXPECT_EQ(speeds({Ppm{400'000}, Ppm{700'000}, Ppm{300'000}}), (Speeds{kTopSpeed, kTopSpeed, std::nullopt}))
        << "two do the whole work of a CPU";
    policy(1).runs_at = Khz{2'100'000};
    EXPECT_EQ(speeds({Ppm{400'000}, Ppm{700'000}, Ppm{300'000}}), (Speeds{kTopSpeed, Khz{2'100'000}, kTopSpeed}))
        << "35 + 40 % and 30 %";
}

TEST_F(Control, PrefersTheAverageSpeedWhereTheKernelHasIt) {
    kernel.add_pstate(0, {0}).average = Khz{1'000'000};
    policy(0).runs_at = Khz{4'000'000};
    open();
    good(control->acquire());
    good(control->keep_up(MonoTime()));
    EXPECT_EQ(speed(), Khz{1'000'000});
}

TEST_F(Control, FixesACapAndLendsWhereThereIsNoUserspace) {
    given_a_pstate();
    good(control->fix(0));
    EXPECT_EQ(policy(0).user_max, Khz{400'000});
    good(control->lend({.name = "performance", .tunables = {}}));
    EXPECT_EQ(policy(0).user_max, kNoLimit);
    EXPECT_EQ(policy(0).governor, "performance");
    good(control->release());
    EXPECT_EQ(policy(0).governor, "powersave");
}

TEST_F(Control, IsTheSameWhileCpusComeAndGo) {
    given_a_t61();
    kernel.off_line(1);
    EXPECT_FALSE(control->changed());
    kernel.on_line(1);
    EXPECT_FALSE(control->changed());
}

TEST_F(Control, HasChangedWithANewPolicyOrAnotherDriver) {
    given_a_t61();
    kernel.add_t61(2, {2});
    EXPECT_TRUE(control->changed());
    open();
    EXPECT_FALSE(control->changed());
    policy(2).is.highest = {2'600'000};
    EXPECT_TRUE(control->changed());
    open();
    policy(2).is.cpus = {2, 3};
    EXPECT_TRUE(control->changed());
    open();
    policy(2).is.driver = "intel_cpufreq";
    EXPECT_TRUE(control->changed());
}

}  // namespace

namespace {

std::vector<std::uint32_t> steps(const Result<Ladder>& ladder) {
    std::vector<std::uint32_t> result;
    for (std::size_t i = 0; ladder && i < ladder->size(); ++i) {
        result.push_back((*ladder)[i].value);
    }
    return result;
}

CpufreqPolicy range(std::uint32_t lowest, std::uint32_t highest) {
    return {.id = {3}, .lowest = {lowest}, .highest = {highest}};
}

CpufreqPolicy with_governors(std::vector<std::string> governors) {
    return {.governors = std::move(governors)};
}

using Steps = std::vector<std::uint32_t>;

TEST(CpufreqLadder, IsTheDriversTable) {
    CpufreqPolicy policy = range(800'000, 2'201'000);
    policy.frequencies = {{800'000}, {1'200'000}, {1'600'000}, {2'200'000}, {2'201'000}};
    EXPECT_EQ(steps(make_ladder(policy, {})), (Steps{800'000, 1'200'000, 1'600'000, 2'200'000, 2'201'000}));
}

TEST(CpufreqLadder, CarriesCalibratedSpeedsOfItsOwnFrequencies) {
    CpufreqPolicy policy = range(2'200'000, 2'201'000);
    policy.frequencies = {{2'200'000}, {2'201'000}};
    const auto ladder = make_ladder(policy, {{Khz{2'201'000}, Khz{2'300'000}}, {Khz{999}, Khz{1'000}}});
    ASSERT_TRUE(ladder);
    EXPECT_EQ(ladder->top(), Khz{2'201'000});
    EXPECT_EQ(ladder->f_max(), Khz{2'300'000});
    EXPECT_EQ(ladder->speed({2'200'000}), Khz{2'200'000});
}

TEST(CpufreqLadder, RefusesSpeedsThatDoNotAscend) {
    CpufreqPolicy policy = range(2'200'000, 2'201'000);
    policy.frequencies = {{2'200'000}, {2'201'000}};
    const auto ladder = make_ladder(policy, {{Khz{2'201'000}, Khz{1}}});
    ASSERT_FALSE(ladder);
    EXPECT_TRUE(ladder.error().message.starts_with("policy3: ")) << ladder.error().message;
}

TEST(CpufreqLadder, IsMadeOfTenStepsRoundedTo100MhzWithoutATable) {
    EXPECT_EQ(steps(make_ladder(range(400'000, 4'200'000), {})),
              (Steps{400'000, 800'000, 1'200'000, 1'700'000, 2'100'000, 2'500'000, 2'900'000, 3'400'000, 3'800'000,
                     4'200'000}));
}

TEST(CpufreqLadder, OfANarrowRangeHasItsEnds) {
    EXPECT_EQ(steps(make_ladder(range(1'000'000, 1'050'000), {})), (Steps{1'000'000, 1'050'000}));
    EXPECT_EQ(steps(make_ladder(range(1'090'000, 1'140'000), {})), (Steps{1'090'000, 1'140'000}));
    EXPECT_EQ(steps(make_ladder(range(1'000'000, 1'000'000), {})), (Steps{1'000'000}));
}

// Every range gives an ascending ladder of at most as many entries as asked for, from end to end.
TEST(CpufreqLadder, CanBeMadeOfAnyRange) {
    for (std::uint32_t lowest = 1; lowest < 3'000'000; lowest += 77'777) {
        for (std::uint32_t span = 0; span < 6'000'000; span += 55'555) {
            for (const std::size_t steps : {std::size_t{2}, kEvenSteps, std::size_t{32}}) {
                const auto ladder = make_ladder(range(lowest, lowest + span), {}, steps);
                ASSERT_TRUE(ladder) << lowest << " + " << span;
                ASSERT_LE(ladder->size(), steps);
                ASSERT_EQ(ladder->lowest().value, lowest);
                ASSERT_EQ(ladder->top().value, lowest + span);
            }
        }
    }
}

TEST(CpufreqBackend, IsSetspeedWhereUserspaceIsThereOrCanBeLoaded) {
    const std::vector<CpufreqPolicy> listed{with_governors({"ondemand", "userspace", "performance"})};
    const std::vector<CpufreqPolicy> loadable{with_governors({"performance", "schedutil"})};
    EXPECT_EQ(backend_of(listed), Backend::Setspeed);
    EXPECT_EQ(backend_of(loadable), Backend::Setspeed);
}

TEST(CpufreqBackend, IsCapWhereTheDriverHasGovernorsOfItsOwn) {
    const std::vector<CpufreqPolicy> active{with_governors({"performance", "powersave"})};
    const std::vector<CpufreqPolicy> none{with_governors({})};
    const std::vector<CpufreqPolicy> mixed{with_governors({"ondemand", "userspace"}), active.front()};
    const std::vector<CpufreqPolicy> other_way_round{with_governors({"powersave", "performance"})};
    EXPECT_EQ(backend_of(active), Backend::Cap);
    EXPECT_EQ(backend_of(other_way_round), Backend::Cap);
    EXPECT_EQ(backend_of(none), Backend::Cap);
    EXPECT_EQ(backend_of(mixed), Backend::Cap);
}

}  // namespace

}  // namespace happe
