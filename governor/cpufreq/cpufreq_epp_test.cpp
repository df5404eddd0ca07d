// SPDX-License-Identifier: GPL-2.0-or-later
// The energy performance preference that HAPPE sets and restores.
#include "governor/cpufreq/cpufreq_fake.h"

#include <functional>

namespace happe {
namespace {

constexpr const char* kFound = "balance_performance";
constexpr const char* kWanted = "power";

class Epp : public ControlTest {
protected:
    void given_two_policies() {
        kernel.add_pstate(0, {0});
        kernel.add_pstate(1, {1});
        open();
    }
};

TEST_F(Epp, IsSetOnEveryPolicyAndGivenBack) {
    given_two_policies();
    policy(1).epp = "128";  // a number that somebody wrote
    control->prefer(kWanted);
    good(control->acquire());
    EXPECT_EQ(policy(0).epp, kWanted);
    EXPECT_EQ(policy(1).epp, kWanted);
    control->prefer("");
    EXPECT_EQ(policy(0).epp, kWanted) << "until HAPPE takes the machine again";
    good(control->release());
    EXPECT_EQ(policy(0).epp, kFound);
    EXPECT_EQ(policy(1).epp, "128");
    EXPECT_FALSE(is_file_there());
}

TEST_F(Epp, IsLeftAloneUnlessItIsAskedFor) {
    given_two_policies();
    kernel.refused["energy_performance_preference"] = "nobody should";
    good(control->acquire());
    good(control->release());
    control->prefer(kFound);
    good(control->acquire());
    good(control->release());
}

TEST_F(Epp, IsGivenBackAfterACrash) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->acquire());
    const FoundState left = *load_found(file);
    good(control->release());
    policy(0).epp = policy(1).epp = kWanted;
    good(save_found(file, left));
    good(restore_found(file, kernel));
    EXPECT_EQ(policy(0).epp, kFound);
    EXPECT_EQ(policy(1).epp, kFound);
}

// GameMode sets the governor performance, one policy has no preference, the driver has not this one, or it refuses.
TEST_F(Epp, ThatCannotBeSetHindersNothingUnlessItIsRequired) {
    const std::vector<std::pair<std::function<void()>, std::string>> hindrances{
        {[&] { policy(1).governor = "performance"; },
         "policy1: the kernel does not set the energy performance preference \"power\" while scaling_governor is "
         "\"performance\"; choose another governor"},
        {[&] { policy(1).is.epps.clear(); },
         "policy1: the driver intel_pstate has no energy performance preference, so HAPPE cannot set \"power\""},
        {[&] { policy(1).is.epps = {"default", "performance"}; },
         "policy1: the driver intel_pstate has no energy performance preference \"power\", only default, performance"},
        {[&] { policy(1).epp.clear(); }, "policy1: it has no energy performance preference"},
        {[&] { kernel.refused["policy1/energy_performance_preference"] = "Device or resource busy"; },
         "policy1/energy_performance_preference: Device or resource busy"},
    };
    for (const auto& [hinder, why] : hindrances) {
        kernel = fake::Kernel();
        kernel.add_pstate(0, {0});
        kernel.add_pstate(1, {1});
        hinder();
        open();
        const std::string before = policy(1).epp;
        control->prefer(kWanted, true);
        EXPECT_EQ(error_of(control->acquire()), why);
        EXPECT_EQ(policy(0).epp, kFound) << "all policies or none";
        control->prefer(kWanted);
        good(control->acquire());
        ASSERT_EQ(control->epp_errors().size(), 1U);
        EXPECT_EQ(control->epp_errors().front(), (PolicyError{PolicyId{1}, why}));
        for (int period = 0; period < 3; ++period) {
            good(control->keep_up(MonoTime()));
            good(control->set({1}, {800'000}));
        }
        EXPECT_EQ(policy(0).epp, kWanted);
        EXPECT_EQ(policy(1).epp, before);
        EXPECT_EQ(policy(1).user_max, Khz{800'000});
        good(control->release());
        EXPECT_EQ(policy(0).epp, kFound);
        EXPECT_EQ(policy(1).epp, before);
        EXPECT_FALSE(is_file_there());
    }
}

TEST_F(Epp, IsSetWhenTheGovernorAllowsIt) {
    given_two_policies();
    policy(1).governor = "performance";
    policy(1).epp = "performance";  // as the kernel shows then
    control->prefer(kWanted);
    good(control->acquire());
    policy(1).governor = "powersave";
    policy(1).epp = "balance_power";  // as the kernel had it before
    good(control->keep_up(MonoTime()));
    EXPECT_EQ(policy(1).epp, kWanted);
    EXPECT_TRUE(control->epp_errors().empty());
    good(control->release());
    EXPECT_EQ(policy(1).epp, "balance_power");
}

// The kernel shows "performance" and refuses all else. Later it sets HAPPE's preference again.
TEST_F(Epp, IsGivenBackLaterWhereAGovernorHidesIt) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->acquire());
    policy(1).governor = policy(1).epp = "performance";
    good(control->release());
    EXPECT_EQ(policy(0).epp, kFound);
    EXPECT_TRUE(is_file_there());
    good(control->acquire());
    EXPECT_EQ(policy(0).epp, kWanted);
    policy(1).governor = "powersave";
    policy(1).epp = kWanted;
    good(control->keep_up(MonoTime()));
    good(control->release());
    EXPECT_EQ(policy(1).epp, kFound);
    EXPECT_FALSE(is_file_there());
}

// On mains HAPPE has no preference. Then GameMode ends, and the kernel sets HAPPE's from the battery again.
TEST_F(Epp, OfTheOtherSourceIsGivenBackWhenTheGovernorShowsItAgain) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->acquire());
    policy(1).governor = policy(1).epp = "performance";
    good(control->release());
    control->prefer("");
    good(control->acquire());
    good(control->keep_up(MonoTime()));
    policy(1).governor = "powersave";
    policy(1).epp = kWanted;
    good(control->keep_up(MonoTime()));
    EXPECT_EQ(policy(1).epp, kFound);
    good(control->release());
    EXPECT_FALSE(is_file_there());
}

TEST_F(Epp, PerformanceIsSetAfterTheGovernorOfThatName) {
    given_two_policies();
    policy(1).governor = policy(1).epp = "performance";
    control->prefer("performance");
    good(control->acquire());
    EXPECT_TRUE(control->epp_errors().empty());
    policy(1).governor = "powersave";
    policy(1).epp = kFound;
    good(control->keep_up(MonoTime()));
    EXPECT_EQ(policy(1).epp, "performance");
    good(control->release());
    EXPECT_EQ(policy(1).epp, kFound);
}

TEST_F(Epp, ThatCannotBeGivenBackIsAnErrorAndHindersNothing) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->acquire());
    kernel.refused["policy1/energy_performance_preference"] = "Input/output error";
    EXPECT_EQ(error_of(control->release()), "policy1/energy_performance_preference: Input/output error");
    EXPECT_FALSE(restore_found(file, kernel));
    open();
    control->prefer("");
    good(control->acquire());
    good(control->set({1}, {800'000}));
    EXPECT_EQ(policy(1).user_max, Khz{800'000});
    kernel.refused.clear();
    good(control->release());
    EXPECT_EQ(policy(1).epp, kFound);
    EXPECT_EQ(policy(1).user_max, kNoLimit);
    EXPECT_FALSE(is_file_there());
}

TEST_F(Epp, ThatAnotherProgramHasSetSinceIsLeftAlone) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->acquire());
    policy(0).epp = "performance";
    good(control->keep_up(MonoTime()));
    good(control->release());
    EXPECT_EQ(policy(0).epp, "performance");
    EXPECT_EQ(policy(1).epp, kFound);
}

TEST_F(Epp, IsRememberedOfAPolicyThatWentOffLine) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->acquire());
    kernel.off_line(1);
    good(control->release());
    kernel.on_line(1);
    control->prefer("");
    good(control->acquire());
    good(control->release());
    EXPECT_EQ(policy(1).epp, kFound);
}

TEST_F(Epp, ThatAnotherProgramHasSetWhileThePolicyWasAwayIsLeftAlone) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->acquire());
    kernel.off_line(1);
    good(control->keep_up(MonoTime()));
    kernel.on_line(1);
    policy(1).epp = "performance";
    control->prefer("");
    good(control->keep_up(MonoTime()));
    EXPECT_EQ(policy(1).epp, "performance");
}

TEST_F(Epp, OfALentMachineIsSetToo) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->lend({.name = "powersave", .tunables = {}}));
    EXPECT_EQ(policy(0).epp, kWanted);
    good(control->fix(0));
    EXPECT_EQ(policy(0).epp, kWanted);
    good(control->release());
    EXPECT_EQ(policy(0).epp, kFound);
}

TEST_F(Epp, IsCheckedWithoutAWrite) {
    given_two_policies();
    good(control->takes(kWanted));
    policy(1).governor = "performance";
    EXPECT_FALSE(control->takes(kWanted));
    good(control->takes("performance"));
    EXPECT_FALSE(control->takes("slow"));
    EXPECT_EQ(policy(0).writes + policy(1).writes, 0);
}

}  // namespace
}  // namespace happe
