// SPDX-License-Identifier: GPL-2.0-or-later
// How CpufreqControl follows the limits of others.
#include "governor/cpufreq/cpufreq_control.h"

#include "governor/cpufreq/cpufreq_fake.h"

#include <algorithm>
#include <random>

namespace happe {
namespace {

constexpr Khz kFloor{400'000};
constexpr Khz kLimit{1'500'000};
constexpr Khz kHigherLimit{2'500'000};
constexpr Khz kNominal{2'400'000};
constexpr Khz kWanted{3'400'000};
constexpr Khz kFull{4'200'000};

// A policy that HAPPE caps: its driver has its own governors, or a table to which the kernel rounds limits.
class Limits : public ControlTest, public testing::WithParamInterface<bool> {
protected:
    fake::Kernel::Policy& add() {
        kernel.add_pstate(0, {0});
        boost(true);
        return policy(0);
    }
    // Somebody switches boost.
    void boost(bool on) {
        CpufreqPolicy& is = policy(0).is;
        is.highest = on ? kFull : kNominal;
        if (GetParam()) {
            is.frequencies = {{1'250'000}, kLimit, kHigherLimit};
            for (Khz entry = kFloor; entry <= kFull; entry.value += 200'000) {
                is.frequencies.push_back(entry);
            }
            std::ranges::sort(is.frequencies);
            std::erase_if(is.frequencies, [&](Khz entry) { return entry > is.highest; });
        }
    }
    void given_a_cap(Khz cap, bool boosted = true) {
        add();
        boost(boosted);
        open();
        good(control->acquire());
        good(control->set({0}, cap));
        pass_period();
        EXPECT_EQ(kernel.max(policy(0)), std::min(cap, kernel.max(policy(0))));
    }
    // Lets a period pass.
    void pass_period() {
        kernel.wait_for_maximum();
        good(control->keep_up(MonoTime{now += std::chrono::seconds{1}}));
    }
    void pass_three_periods() {
        for (int i = 0; i < 3; ++i) {
            pass_period();
        }
        kernel.wait_for_maximum();
    }
    void released() {
        good(control->release());
        kernel.wait_for_maximum();
    }
    // Kills happed and restores what it found.
    void killed() {
        const std::string left = text_of(file);
        const Khz written = policy(0).user_max;
        released();
        policy(0).user_max = written;
        put_text(file, left);
        good(restore_found(file, kernel));
    }
    void ended(bool by_a_kill) { by_a_kill ? killed() : released(); }
    // Another program writes a limit.
    void others(Khz limit) { policy(0).user_max = limit; }
    [[nodiscard]] Khz in_force() { return kernel.max(policy(0)); }
    [[nodiscard]] std::vector<PolicyLimits> only(Khz least, Khz most) { return {{{0}, least, most}}; }
    [[nodiscard]] int writes() { return policy(0).writes; }

    Micros now{};
};

TEST_P(Limits, AreNoneOnAnUntouchedMachine) {
    given_a_cap(kWanted);
    EXPECT_TRUE(control->limits().empty());
    EXPECT_EQ(writes(), 1);
    pass_three_periods();
    EXPECT_EQ(writes(), 1);
}

TEST_P(Limits, AreKeptInMindBelowALowerCap) {
    given_a_cap(kWanted);
    others(kHigherLimit);
    pass_period();
    good(control->set({0}, kLimit));
    pass_three_periods();
    EXPECT_EQ(in_force(), kLimit);
    EXPECT_EQ(control->limits(), only(kFloor, kHigherLimit));
    good(control->set({0}, kFull));
    pass_three_periods();
    EXPECT_EQ(in_force(), kHigherLimit);
    released();
    EXPECT_EQ(policy(0).user_max, kHigherLimit) << "the newest, not the one that was found";
}

TEST_P(Limits, AreFollowedWhenTheyRiseAboveTheCap) {
    given_a_cap({800'000});
    others(kHigherLimit);
    pass_three_periods();
    EXPECT_EQ(in_force(), Khz{800'000});
    EXPECT_EQ(control->limits(), only(kFloor, kHigherLimit));
    good(control->set({0}, kFull));
    pass_three_periods();
    EXPECT_EQ(in_force(), kHigherLimit);
    others(kFull);
    pass_three_periods();
    EXPECT_EQ(in_force(), kFull);
    released();
    EXPECT_EQ(policy(0).user_max, kNoLimit);
}

TEST_P(Limits, OfTheStartAreFollowedWhenTheyAreLifted) {
    add().user_max = kLimit;
    open();
    good(control->acquire());
    EXPECT_EQ(control->limits(), only(kFloor, kLimit));
    good(control->set({0}, kWanted));
    pass_three_periods();
    EXPECT_EQ(writes(), 0);
    good(control->set({0}, {800'000}));
    pass_three_periods();
    good(control->set({0}, kWanted));
    pass_three_periods();
    EXPECT_EQ(in_force(), kLimit);
    others(kFull);
    pass_three_periods();
    EXPECT_EQ(in_force(), kWanted);
    released();
    EXPECT_EQ(policy(0).user_max, kNoLimit);
}

TEST_P(Limits, OfTheKernelEndWithoutAWriteOfOurs) {
    given_a_cap(kWanted);
    policy(0).kernel_max = {1'200'000};
    pass_three_periods();
    EXPECT_EQ(control->limits(), only(kFloor, {1'200'000}));
    good(control->set({0}, {800'000}));
    pass_three_periods();
    EXPECT_EQ(in_force(), Khz{800'000});
    policy(0).kernel_max = kFull;
    good(control->set({0}, kWanted));
    pass_three_periods();
    EXPECT_EQ(in_force(), kWanted) << "a limit of the kernel that nobody lifts must not stay in mind";
    EXPECT_TRUE(control->limits().empty());
}

TEST_P(Limits, OfTheKernelAtTheStartAreNotKept) {
    add().kernel_max = kLimit;
    open();
    good(control->acquire());
    good(control->set({0}, {800'000}));
    pass_three_periods();
    policy(0).kernel_max = kFull;
    good(control->set({0}, kWanted));
    pass_three_periods();
    EXPECT_EQ(in_force(), kWanted);
    released();
    EXPECT_EQ(policy(0).user_max, kNoLimit);
}

TEST_P(Limits, OfTheKernelAreToldFromOthersOnRelease) {
    for (const bool of_the_kernel : {false, true}) {
        kernel = fake::Kernel();
        given_a_cap(kWanted);
        (of_the_kernel ? policy(0).kernel_max : policy(0).user_max) = kLimit;
        pass_period();
        released();
        EXPECT_EQ(policy(0).user_max, of_the_kernel ? kNoLimit : kLimit);
        EXPECT_FALSE(is_file_there());
    }
}

TEST_P(Limits, SetSinceTheLastLookAreWhatIsGivenBack) {
    given_a_cap(kWanted);
    others(kLimit);
    released();
    EXPECT_EQ(policy(0).user_max, kLimit);
}

TEST_P(Limits, SetBetweenALookAndAWriteAreSeenBeforeTheWrite) {
    given_a_cap(kWanted);
    pass_period();
    others(kHigherLimit);
    good(control->set({0}, {800'000}));
    pass_three_periods();
    EXPECT_EQ(in_force(), Khz{800'000});
    released();
    EXPECT_EQ(policy(0).user_max, kHigherLimit);
}

// Kills happed at any moment and restores the limits.
TEST_P(Limits, AreGivenBackAfterAKillToo) {
    for (const Khz last : {Khz{800'000}, kWanted}) {
        kernel = fake::Kernel();
        given_a_cap(kWanted);
        others(kHigherLimit);
        pass_period();
        good(control->set({0}, last));
        pass_three_periods();
        killed();
        EXPECT_EQ(policy(0).user_max, kHigherLimit);
    }
}

TEST_P(Limits, AreTheHighestFrequencyWhereTheKernelRefusesNoLimit) {
    given_a_cap({800'000});
    policy(0).accepts = kFull;
    boost(false);
    released();
    EXPECT_EQ(policy(0).user_max, kNominal);
}

TEST_P(Limits, OfOthersStayWhenBoostIsSwitched) {
    for (const bool on : {false, true}) {
        for (const Khz limit : {kLimit, kHigherLimit}) {
            kernel = fake::Kernel();
            given_a_cap({800'000}, !on);
            boost(on);
            others(limit);  // before happed knows of the new range
            pass_period();
            released();
            EXPECT_EQ(policy(0).user_max, on || limit < kNominal ? limit : kNoLimit);
        }
    }
}

// Boost goes and comes back. Each time happed opens the machine anew, and the kernel does not show the limit meanwhile.
TEST_P(Limits, AboveTheRangeWithoutBoostOutliveIt) {
    add().user_max = kHigherLimit;
    open();
    good(control->acquire());
    for (const bool on : {false, true, false, true}) {
        good(control->set({0}, {800'000}));
        pass_three_periods();
        boost(on);
        released();
        EXPECT_EQ(policy(0).user_max, kHigherLimit);
        auto next = CpufreqControl::open(kernel, {.found = file, .speeds = {}});
        ASSERT_TRUE(next);
        (*next)->inherit(*control);
        control = std::move(*next);
        good(control->acquire());
    }
    released();
    EXPECT_EQ(policy(0).user_max, kHigherLimit);
}

// The question destroys the limit that was found.
TEST_P(Limits, AreToldFromTheKernelsWhenHappedEndsBeforeTheAnswer) {
    for (const bool of_the_kernel : {false, true}) {
        for (const bool by_a_kill : {false, true}) {
            kernel = fake::Kernel();
            (of_the_kernel ? add().kernel_max : add().user_max) = kLimit;
            open();
            good(control->acquire());
            good(control->set({0}, {800'000}));
            ended(by_a_kill);
            EXPECT_EQ(policy(0).user_max, of_the_kernel ? kNoLimit : kLimit);
        }
    }
}

TEST_P(Limits, FromBelowAreFollowedToo) {
    given_a_cap({800'000});
    policy(0).user_min = {1'250'000};
    pass_three_periods();
    pass_three_periods();
    EXPECT_EQ(in_force(), Khz{1'250'000}) << "the cap must not push a floor down";
    EXPECT_EQ(control->limits(), only({1'250'000}, kFull));
    EXPECT_FALSE(control->limit({0})) << "a floor is none";
    policy(0).user_min = kFloor;
    pass_three_periods();
    EXPECT_EQ(in_force(), Khz{800'000});
    EXPECT_TRUE(control->limits().empty());
    const int before = writes();
    pass_three_periods();
    EXPECT_EQ(writes(), before);
}

// thermald on a driver without limits of its own: down and up by steps, for hours.
TEST_P(Limits, AHundredTimesAreNeverExceededForLongerThanAPeriod) {
    std::mt19937 random(18);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
    given_a_cap(kWanted);
    Khz limit = kFull;
    for (int change = 0; change < 100; ++change) {
        const int before = writes();
        limit = Khz{800'000 + 400'000 * static_cast<std::uint32_t>(random() % 9)};  // none is HAPPE's own cap
        others(limit);
        pass_period();
        pass_period();
        pass_period();
        kernel.wait_for_maximum();
        EXPECT_LE(in_force(), limit);
        EXPECT_LE(writes() - before, 2) << "one to ask who set a higher limit, one to cap again";
        const int after = writes();
        pass_three_periods();
        EXPECT_EQ(writes(), after) << limit.value;
    }
    EXPECT_FALSE(control->contested());
    released();
    EXPECT_EQ(policy(0).user_max, limit);
}

TEST_P(Limits, BoundTheSpeedOfUserspace) {
    given_a_t61();
    good(control->acquire());
    good(control->set({0}, kHigh));
    for (int i = 0; i < 10; ++i) {
        others(kMiddle);
        const int before = writes();
        pass_period();
        EXPECT_EQ(policy(0).setspeed, kMiddle);
        EXPECT_EQ(control->limits(), only(kLowest, kMiddle));
        others(kTop);
        pass_period();
        EXPECT_EQ(policy(0).setspeed, kHigh);
        EXPECT_TRUE(control->limits().empty());
        pass_three_periods();
        EXPECT_EQ(writes(), before + 2);
    }
    policy(0).user_min = kTop;
    pass_period();
    EXPECT_EQ(policy(0).setspeed, kTop);
    EXPECT_FALSE(control->contested());
}

INSTANTIATE_TEST_SUITE_P(, Limits, testing::Bool(),
                         [](const auto& driver) { return driver.param ? "OfADriverWithATable" : "OfADriverWithout"; });

}  // namespace
}  // namespace happe
