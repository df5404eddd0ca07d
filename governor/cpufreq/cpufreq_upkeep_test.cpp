// SPDX-License-Identifier: GPL-2.0-or-later
// How CpufreqControl defends its settings.
#include "governor/cpufreq/cpufreq_control.h"

#include "governor/cpufreq/cpufreq_fake.h"

namespace happe {
namespace {

class Upkeep : public ControlTest {
protected:
    void given_both_policies_at(Khz khz) {
        given_a_t61();
        good(control->acquire());
        good(control->set({0}, khz));
        good(control->set({1}, khz));
    }
    Status keep_up() { return keep_up_at(now + std::chrono::seconds{1}); }
    Status keep_up_at(Micros then) {
        kernel.wait_for_maximum();
        return control->keep_up(MonoTime{now = then});
    }
    void pass_period() { good(keep_up()); }
    [[nodiscard]] int writes() { return policy(0).writes + policy(1).writes; }

    // Another program sets a governor as often as HAPPE tolerates, for the first time at `kFirstRetake`.
    void given_retakes_are_used_up() {
        for (std::size_t i = 0; i < CpufreqControl::kMostRetakes; ++i) {
            policy(1).governor = "performance";
            pass_period();
            ASSERT_EQ(policy(1).governor, "userspace");
        }
    }

    static constexpr Micros kFirstRetake = std::chrono::seconds{1};
    Micros now{};
};

TEST_F(Upkeep, WritesNothingWhileAllIsWell) {
    given_both_policies_at(kHigh);
    const int before = writes();
    pass_period();
    pass_period();
    EXPECT_EQ(writes(), before);
}

TEST_F(Upkeep, SaysWhyNotEveryPolicyIsGovernedUntilEveryOneIs) {
    given_a_t61();
    kernel.refused["policy1/scaling_governor"] = "Input/output error";
    EXPECT_FALSE(control->acquire());
    EXPECT_EQ(in_words(control->errors()), "policy1/scaling_governor: Input/output error");
    kernel.refused.clear();
    good(control->acquire());
    EXPECT_EQ(in_words(control->errors()), "");

    kernel.refused["scaling_setspeed"] = "Input/output error";
    EXPECT_FALSE(control->set({0}, kHigh));
    EXPECT_FALSE(control->set({1}, kHigh));
    EXPECT_EQ(in_words(control->errors()),
              "policy0/scaling_setspeed: Input/output error; the same or another error on policy 1");
    kernel.refused.clear();
    pass_period();
    EXPECT_EQ(in_words(control->errors()), "");

    policy(1).governor = "performance";
    kernel.refused["policy1/scaling_governor"] = "Input/output error";
    EXPECT_EQ(error_of(control->keep_up(MonoTime())), "policy1/scaling_governor: Input/output error");
    EXPECT_EQ(in_words(control->errors()), "policy1/scaling_governor: Input/output error");
    good(control->release());
    EXPECT_EQ(in_words(control->errors()), "");
}

TEST_F(Upkeep, SetsGovernorAndTargetAgainAfterHotplugHoweverOften) {
    given_both_policies_at(kMiddle);
    for (int i = 0; i < 10; ++i) {
        kernel.off_line(1);
        pass_period();
        good(control->set({1}, kHigh));  // decided while the policy was away
        kernel.on_line(1);
        policy(1).governor = i % 2 == 0 ? "ondemand" : "userspace";  // the driver began again, or not
        pass_period();
        EXPECT_EQ(policy(1).governor, "userspace");
        EXPECT_EQ(runs_at(1), kHigh);
    }
    EXPECT_FALSE(control->contested());
    EXPECT_EQ(load_found(file)->size(), 2U);
    good(control->release());
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_EQ(policy(1).governor, "ondemand");
}

TEST_F(Upkeep, TakesAPolicyThatWasOffLineAtFirst) {
    given_a_t61();
    kernel.off_line(1);
    good(control->acquire());
    kernel.on_line(1);
    pass_period();
    EXPECT_EQ(policy(1).governor, "userspace");
    EXPECT_EQ(load_found(file)->size(), 2U);
    good(control->release());
    EXPECT_EQ(policy(1).governor, "ondemand");
}

// As after an unannounced resume: all governors have changed, and all targets are gone.
TEST_F(Upkeep, CountsWhatHappensToAllPoliciesAtOnceAsOne) {
    given_both_policies_at(kHigh);
    for (std::size_t i = 0; i < CpufreqControl::kMostRetakes; ++i) {
        policy(0).governor = "ondemand";
        policy(1).governor = "ondemand";
        pass_period();
        EXPECT_EQ(runs_at(0), kHigh);
        EXPECT_EQ(runs_at(1), kHigh);
    }
    EXPECT_FALSE(control->contested());
}

TEST_F(Upkeep, GivesUpAfterThreeRetakesAndSaysSoOnce) {
    given_both_policies_at(kHigh);
    given_retakes_are_used_up();
    policy(1).governor = "performance";
    const std::string error = error_of(keep_up());
    EXPECT_EQ(
        error,
        "policy1: scaling_governor was set to \"performance\" by another program, again after 3 corrections within "
        "60 s: HAPPE gives up");
    EXPECT_TRUE(control->contested());
    EXPECT_EQ(policy(1).governor, "performance");
    EXPECT_EQ(policy(0).governor, "ondemand");
    EXPECT_FALSE(is_file_there());
    const int before = writes();
    pass_period();
    good(control->set({0}, kLowest));
    EXPECT_EQ(writes(), before);
}

TEST_F(Upkeep, LeavesTheOthersTargetWhenItGivesUp) {
    given_both_policies_at(kHigh);
    given_retakes_are_used_up();
    policy(0).setspeed = kLowest;
    EXPECT_TRUE(error_of(keep_up()).starts_with("policy0: scaling_setspeed was set to 800000 by another program"));
    EXPECT_EQ(policy(0).governor, "userspace");
    EXPECT_EQ(runs_at(0), kLowest);
    EXPECT_EQ(policy(1).governor, "ondemand");
}

TEST_F(Upkeep, CountsARetakeForLessThanAMinute) {
    given_both_policies_at(kHigh);
    given_retakes_are_used_up();
    policy(1).governor = "performance";
    EXPECT_FALSE(keep_up_at(kFirstRetake + std::chrono::seconds{60} - Micros{1}));
    EXPECT_TRUE(control->contested());
}

TEST_F(Upkeep, ForgetsARetakeAfterAMinuteAndNoOther) {
    given_both_policies_at(kHigh);
    given_retakes_are_used_up();
    policy(1).governor = "performance";
    good(keep_up_at(kFirstRetake + std::chrono::seconds{60}));
    EXPECT_EQ(policy(1).governor, "userspace");
    policy(1).governor = "performance";
    EXPECT_FALSE(keep_up_at(now + Micros{1}));
    EXPECT_TRUE(control->contested());
}

TEST_F(Upkeep, BeginsAnewAfterAContest) {
    given_both_policies_at(kHigh);
    given_retakes_are_used_up();
    policy(1).governor = "performance";
    EXPECT_FALSE(keep_up());
    good(control->acquire());
    EXPECT_FALSE(control->contested());
    policy(1).governor = "ondemand";
    pass_period();
    EXPECT_EQ(policy(1).governor, "userspace");
    good(control->release());
    EXPECT_EQ(policy(1).governor, "performance");
    EXPECT_EQ(policy(0).governor, "ondemand");
}

TEST_F(Upkeep, ReleaseEndsAContestAndTouchesNothing) {
    given_both_policies_at(kHigh);
    given_retakes_are_used_up();
    policy(1).governor = "performance";
    EXPECT_FALSE(keep_up());
    const int before = writes();
    good(control->release());
    EXPECT_FALSE(control->contested());
    EXPECT_EQ(writes(), before);
}

TEST_F(Upkeep, SaysWhyAPolicyCannotBeRetakenAndGoesOnWithTheOthers) {
    given_both_policies_at(kHigh);
    policy(0).governor = "performance";
    policy(1).governor = "performance";
    kernel.refused["policy0/scaling_governor"] = "Invalid argument";
    EXPECT_EQ(error_of(keep_up()), "policy0/scaling_governor: Invalid argument");
    EXPECT_EQ(policy(1).governor, "userspace");
}

TEST_F(Upkeep, LeavesASetToARobbedPolicyToItself) {
    given_both_policies_at(kHigh);
    policy(0).governor = "performance";
    good(control->set({0}, kLowest));
    EXPECT_EQ(policy(0).governor, "performance");
    pass_period();
    EXPECT_EQ(runs_at(0), kLowest);
}

TEST_F(Upkeep, KeepsALentGovernorAndItsTunables) {
    given_a_t61();
    good(control->lend({.name = "ondemand", .tunables = {{"sampling_rate", "80000"}}}));
    const int before = writes();
    pass_period();
    EXPECT_EQ(writes(), before);
    kernel.shared["ondemand"]["sampling_rate"] = "10000";
    pass_period();
    EXPECT_EQ(kernel.shared["ondemand"]["sampling_rate"], "80000");
    kernel.shared["ondemand"]["up_threshold"] = "60";  // the study did not ask for this one
    const int after = writes();
    pass_period();
    EXPECT_EQ(writes(), after);
    policy(0).governor = "userspace";
    pass_period();
    EXPECT_EQ(policy(0).governor, "ondemand");
}

TEST_F(Upkeep, NoticesAnotherDriverAndTouchesNothing) {
    given_both_policies_at(kHigh);
    policy(0).is.driver = policy(1).is.driver = "intel_pstate";
    policy(0).governor = "powersave";
    const int before = writes();
    EXPECT_EQ(error_of(keep_up()),
              "the driver acpi-cpufreq is gone or has changed its mode: HAPPE looks for the present driver");
    EXPECT_TRUE(control->outdated());
    good(control->set({0}, kLowest));
    EXPECT_EQ(writes(), before);
    good(control->release());
    EXPECT_EQ(policy(0).governor, "powersave") << "what was found went with the driver";
    EXPECT_EQ(policy(1).governor, "ondemand");
}

// Switching boost changes cpuinfo_max_freq (intel_pstate, amd-pstate), or only the table (acpi-cpufreq).
TEST_F(Upkeep, NoticesAnotherRangeOrTableOfAnyPolicyAndGovernsOn) {
    for (const std::uint16_t changed : std::initializer_list<std::uint16_t>{0, 1}) {
        for (const bool table : {false, true}) {
            kernel = fake::Kernel();
            given_both_policies_at(kHigh);
            pass_period();
            pass_period();
            EXPECT_FALSE(control->outdated());
            if (table) {
                policy(changed).is.frequencies.pop_back();
            } else {
                policy(changed).is.highest = {2'600'000};
            }
            pass_period();
            pass_period();
            EXPECT_TRUE(control->outdated()) << changed << table;
            good(control->set({0}, kLowest));
            EXPECT_EQ(runs_at(0), kLowest);
        }
    }
}

TEST_F(Upkeep, GivesThePreferenceBackWhenItGivesUp) {
    given_a_t61();
    for (const std::uint16_t id : std::initializer_list<std::uint16_t>{0, 1}) {
        policy(id).is.epps = {"balance_performance", "power"};
        policy(id).epp = "balance_performance";
    }
    open();
    control->prefer("power");
    good(control->acquire());
    given_retakes_are_used_up();
    policy(1).governor = "ondemand";
    EXPECT_FALSE(keep_up());
    EXPECT_TRUE(control->contested());
    EXPECT_EQ(policy(1).governor, "ondemand");
    EXPECT_EQ(policy(0).epp, "balance_performance");
    EXPECT_EQ(policy(1).epp, "balance_performance");
    EXPECT_FALSE(is_file_there());
}

TEST_F(Upkeep, SaysThatEveryPolicyIsOffLine) {
    given_both_policies_at(kHigh);
    kernel.off_line(0);
    pass_period();
    kernel.off_line(1);
    EXPECT_EQ(error_of(keep_up()), "every policy is off line");
    kernel.on_line(0);
    pass_period();
}

}  // namespace
}  // namespace happe
