// SPDX-License-Identifier: GPL-2.0-or-later
// The energy performance preference that HAPPE sets and restores.
#include "governor/cpufreq/cpufreq_control_fixture.h"

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
    kernel.refused["policy1/energy_performance_preference"] = "Input/output error";
    EXPECT_EQ(error_of(control->acquire()), "policy1/energy_performance_preference: Input/output error");
    EXPECT_EQ(policy(0).epp, kFound) << "all policies or none";
    kernel.refused.clear();
    good(control->acquire());
    const FoundState left = *load_found(file);
    good(control->release());
    policy(0).epp = policy(1).epp = kWanted;
    good(save_found(file, left));
    good(restore_found(file, kernel));
    EXPECT_EQ(policy(0).epp, kFound);
    EXPECT_EQ(policy(1).epp, kFound);
}

TEST_F(Epp, ThatAnotherProgramHasSetSinceIsLeftAlone) {
    given_two_policies();
    control->prefer(kWanted);
    good(control->acquire());
    policy(0).epp = "performance";
    good(control->tend(MonoTime()));
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
    good(control->tend(MonoTime()));
    kernel.on_line(1);
    policy(1).epp = "performance";
    control->prefer("");
    good(control->tend(MonoTime()));
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

TEST_F(Epp, ThatTheDriverDoesNotTakeIsAnErrorThatSaysWhyAndNothingIsWritten) {
    kernel.add_t61(0, {0});
    open();
    control->prefer(kWanted);
    EXPECT_EQ(error_of(control->acquire()),
              "policy0: the driver acpi-cpufreq has no energy performance preference, so HAPPE cannot set \"power\"");
    EXPECT_EQ(control->errors().size(), 1U);
    kernel.machine.clear();
    given_two_policies();
    EXPECT_EQ(error_of(control->takes("slow")),
              "policy0: the driver intel_pstate has no energy performance preference \"slow\", only default, "
              "performance, balance_performance, balance_power, power");
    good(control->takes(kWanted));
    policy(1).governor = "performance";
    EXPECT_EQ(error_of(control->takes(kWanted)),
              "policy1: the kernel does not set the energy performance preference \"power\" while scaling_governor is "
              "\"performance\"; choose another governor");
    good(control->takes("performance"));
    EXPECT_EQ(policy(0).writes + policy(1).writes, 0);
}

}  // namespace
}  // namespace happe
