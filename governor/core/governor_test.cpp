// SPDX-License-Identifier: GPL-2.0-or-later
// Properties that the vectors (profiles/vectors) don't show: allocation, spans, keys, unknown policies.
#include "governor/core/governor.h"

#include "governor/core/allocations_fixture.h"

#include <gtest/gtest.h>
#include <array>

namespace happe {
namespace {

constexpr std::array kT61{Khz{800'000}, Khz{1'200'000}, Khz{1'600'000}, Khz{2'200'000}, Khz{2'300'000}};

Governor governor_of(std::uint16_t policies, Settings settings = {}, bool together = false) {
    std::vector<PolicyLadder> ladders;
    Domains domains(together ? 1 : 0);
    for (std::uint16_t id = 0; id < policies; ++id) {
        ladders.push_back({PolicyId{id}, *Ladder::from(kT61)});
        if (together) {
            domains.front().push_back(PolicyId{id});
        }
    }
    return {ladders, domains, settings};
}

constexpr std::array kBusy{kOne};

PolicySample busy(Khz current, std::uint16_t id = 0) {
    return {.id = PolicyId{id}, .current = current, .ran = {}, .cpus = kBusy};
}

TEST(Governor, tells_what_a_press_taught) {
    Governor governor = governor_of(1);
    Uafp uafp = governor.untaught();
    const std::array samples{busy(Khz{800'000})};
    const Decision decision = governor.step({samples, Key::Performance}, &uafp);
    ASSERT_EQ(decision.targets.size(), 1U);
    EXPECT_EQ(decision.targets.front(), (Target{PolicyId{0}, Khz{1'200'000}}));
    EXPECT_EQ(decision.lesson, (Lesson{.key = Key::Performance,
                                       .policy = PolicyId{0},
                                       .level = Level{3},
                                       .from = Khz{800'000},
                                       .to = Khz{1'200'000},
                                       .current = Khz{800'000},
                                       .utilisation = kOne}));
    EXPECT_EQ(uafp.at(Level{3}), Khz{1'200'000});
}

TEST(Governor, acts_on_no_press_without_a_policy_to_apply_it_to) {
    Governor governor = governor_of(1);
    Uafp uafp = governor.untaught();
    const Decision decision = governor.step({{}, Key::Performance}, &uafp);
    EXPECT_FALSE(decision.released);
    EXPECT_TRUE(decision.targets.empty());
    EXPECT_FALSE(decision.lesson);
}

TEST(Governor, releases_the_machine_with_nobody_to_serve) {
    Governor governor = governor_of(1);
    const std::array samples{busy(Khz{800'000})};
    const Decision decision = governor.step({samples, {}}, nullptr);
    EXPECT_TRUE(decision.released);
    EXPECT_TRUE(decision.targets.empty());
}

TEST(Governor, forgets_its_levels_with_nobody_to_serve) {
    Governor governor = governor_of(1, {.hold = true});
    Uafp uafp = governor.untaught();
    uafp.learn(Level{5}, Khz{2'200'000});
    const auto target = [&](std::uint32_t ppm) {
        const std::array cpus{Ppm{ppm}};
        const std::array samples{PolicySample{.id = PolicyId{0}, .current = Khz{2'300'000}, .ran = {}, .cpus = cpus}};
        return governor.step({samples, {}}, &uafp).targets.front().khz;
    };
    EXPECT_EQ(target(510'000), Khz{2'200'000});
    EXPECT_EQ(target(490'000), Khz{2'200'000}) << "level 5 is held";
    governor.step({{}, {}}, nullptr);
    EXPECT_EQ(target(490'000), Khz{800'000}) << "level 4";
}

TEST(Governor, finds_the_policies_it_knows) {
    const Governor governor(
        {{PolicyId{4}, *Ladder::from(kT61)}, {PolicyId{1'023}, *Ladder::from(std::array{Khz{3'000'000}})}}, {}, {});
    EXPECT_EQ(governor.find(PolicyId{1'023})->ladder.top(), Khz{3'000'000});
    EXPECT_EQ(governor.find(PolicyId{5}), nullptr);
    EXPECT_EQ(governor.find(PolicyId{1'024}), nullptr);
    EXPECT_EQ(governor.f_ref(), Khz{3'000'000});
    EXPECT_EQ(governor.policies().size(), 2U);
    // 800,000 of 2,300,000 is 1,043,478.26 of 3,000,000.
    EXPECT_EQ(governor.untaught(), Uafp(Khz{1'043'478}));
}

TEST(Governor, tells_of_each_policy_its_domains_level_and_how_fast_it_ran) {
    Governor governor = governor_of(2, {}, true);
    const std::array half{Ppm{500'000}};
    const std::array samples{
        PolicySample{.id = PolicyId{0}, .current = Khz{2'300'000}, .ran = Khz{1'150'000}, .cpus = half},
        PolicySample{.id = PolicyId{1}, .current = Khz{2'300'000}, .ran = {}, .cpus = half}};
    const std::span<const Running> running = governor.step({samples, {}}, nullptr).running;
    ASSERT_EQ(running.size(), 2U);
    for (const Running& policy : running) {
        EXPECT_EQ(policy.level, Level{5}) << "500,000 twice at half the speed";
        EXPECT_EQ(policy.speed(), Khz{1'150'000});
    }
}

TEST(Governor, allocates_nothing_in_a_step) {
    for (const auto& [policies, together] : {std::pair<std::uint16_t, bool>{1, false}, {256, false}, {256, true}}) {
        Governor governor = governor_of(policies, {.hold = true}, together);
        Uafp uafp = governor.untaught();
        std::vector<PolicySample> samples;
        for (std::uint16_t id = 0; id < policies; ++id) {
            samples.push_back(busy(kT61.at(id % kT61.size()), id));
        }
        const std::size_t before = allocations;
        for (int second = 0; second < 100; ++second) {
            const Key key = second % 3 == 0 ? Key::Power : Key::Performance;
            governor.step({samples, key}, &uafp);
        }
        EXPECT_EQ(allocations - before, 0U) << policies << " policies";
    }
    EXPECT_GT(allocations, 0U) << "the counter counts";
}

}  // namespace
}  // namespace happe
