// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/cpufreq_ladder.h"

#include <gtest/gtest.h>

namespace happe {
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

TEST(CpufreqLadder, RefusesATableThatIsTooLong) {
    CpufreqPolicy policy = range(1'000, 65'000);
    for (std::uint32_t mhz = 1; mhz <= Ladder::kMaxSteps + 1; ++mhz) {
        policy.frequencies.push_back({mhz * 1'000});
    }
    EXPECT_FALSE(make_ladder(policy, {}));
}

TEST(CpufreqLadder, IsMadeOfTenStepsRoundedTo100MhzWithoutATable) {
    EXPECT_EQ(steps(make_ladder(range(400'000, 4'200'000), {})),
              (Steps{400'000, 800'000, 1'200'000, 1'700'000, 2'100'000, 2'500'000, 2'900'000, 3'400'000, 3'800'000,
                     4'200'000}));
}

TEST(CpufreqLadder, KeepsTheEndsOfARangeThatIsNotRound) {
    EXPECT_EQ(steps(make_ladder(range(550'000, 1'083'000), {})),
              (Steps{550'000, 700'000, 800'000, 900'000, 1'000'000, 1'083'000}));
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
