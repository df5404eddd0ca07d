// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/uafp.h"

#include "governor/core/ladder.h"
#include "governor/core/profile_book.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <vector>

namespace happe {
namespace {

constexpr std::array kT61{Khz{800'000}, Khz{1'200'000}, Khz{1'600'000}, Khz{2'200'000}, Khz{2'300'000}};

Uafp uafp(std::array<std::uint32_t, Uafp::kLevels> khz) {
    Uafp::Values values{};
    std::ranges::transform(khz, values.begin(), [](std::uint32_t value) { return Khz{value}; });
    return *Uafp::from(values);
}

TEST(Ladder, takes_ascending_frequencies_and_nothing_else) {
    ASSERT_TRUE(Ladder::from(kT61));
    EXPECT_TRUE(std::ranges::equal(Ladder::from(kT61)->khz(), kT61));
    EXPECT_FALSE(Ladder::from({}));
    EXPECT_FALSE(Ladder::from(std::array{Khz{0}}));
    EXPECT_FALSE(Ladder::from(std::array{Khz{2}, Khz{2}}));
    EXPECT_FALSE(Ladder::from(std::array{Khz{2}, Khz{1}}));
    EXPECT_FALSE(Ladder::from(std::array{Khz{20'000'001}}));
    EXPECT_FALSE(Ladder::from(kT61, std::array{Khz{800'000}}));
    EXPECT_FALSE(Ladder::from(std::array{Khz{1}, Khz{2}}, std::array{Khz{2}, Khz{1}}));
    EXPECT_FALSE(Ladder::from(std::vector<Khz>(65, Khz{1})));
    std::vector<Khz> longest;
    for (std::uint32_t khz = 1; khz <= Ladder::kMaxSteps; ++khz) {
        longest.push_back(Khz{khz});
    }
    EXPECT_EQ(Ladder::from(longest)->size(), 64U);
}

TEST(Ladder, steps_from_frequencies_on_it_between_its_own_and_beyond_its_ends) {
    const Ladder ladder = *Ladder::from(kT61);
    EXPECT_EQ(ladder.above(Khz{800'000}), Khz{1'200'000});
    EXPECT_EQ(ladder.above(Khz{2'300'000}), Khz{2'300'000});
    EXPECT_EQ(ladder.above(Khz{9'000'000}), Khz{2'300'000});
    EXPECT_EQ(ladder.above(Khz{1'000'000}), Khz{1'200'000});
    EXPECT_EQ(ladder.below(Khz{800'000}), Khz{800'000});
    EXPECT_EQ(ladder.below(Khz{1}), Khz{800'000});
    EXPECT_EQ(ladder.below(Khz{1'000'000}), Khz{800'000});
    EXPECT_EQ(ladder.below(Khz{2'300'000}), Khz{2'200'000});
    EXPECT_EQ(ladder.below(Khz{9'000'000}), Khz{2'300'000});
}

TEST(Ladder, looks_up_the_lowest_at_or_above_on_its_own_scale_and_another) {
    const Ladder ladder = *Ladder::from(kT61);
    EXPECT_EQ(ladder.at_or_above(Khz{1'200'000}, ladder.top()), Khz{1'200'000});
    EXPECT_EQ(ladder.at_or_above(Khz{1'200'001}, ladder.top()), Khz{1'600'000});
    EXPECT_EQ(ladder.at_or_above(Khz{9'000'000}, ladder.top()), Khz{2'300'000});
    // Half of a ladder twice as fast is half of this one: 1,150,000, so 1,200,000.
    EXPECT_EQ(ladder.at_or_above(Khz{2'300'000}, Khz{4'600'000}), Khz{1'200'000});
}

TEST(Ladder, knows_the_speed_behind_a_name) {
    const Ladder ladder =
        *Ladder::from(std::array{Khz{2'200'000}, Khz{2'201'000}}, std::array{Khz{2'200'000}, Khz{2'300'000}});
    EXPECT_EQ(ladder.speed(Khz{2'201'000}), Khz{2'300'000});
    EXPECT_EQ(ladder.speed(Khz{2'200'500}), Khz{2'200'500});
    EXPECT_EQ(ladder.speed(Khz{3'000'000}), Khz{3'000'000});
    EXPECT_EQ(ladder.f_max(), Khz{2'300'000});
    EXPECT_EQ(ladder.top(), Khz{2'201'000});
    EXPECT_EQ(ladder[0], Khz{2'200'000});
}

TEST(NormalisedUtilisation, falls_into_tenths_with_the_last_one_closed) {
    const auto level = [](std::uint32_t ppm) {
        return NormalisedUtilisation{std::uint64_t{ppm} * 1'000, Khz{1'000}}.level().value;
    };
    EXPECT_EQ(level(0), 0);
    EXPECT_EQ(level(99'999), 0);
    EXPECT_EQ(level(100'000), 1);
    EXPECT_EQ(level(899'999), 8);
    EXPECT_EQ(level(900'000), 9);
    EXPECT_EQ(level(1'000'000), 9);
    EXPECT_EQ(level(1'500'000), 9);
}

TEST(NormalisedUtilisation, is_compared_exactly) {
    const NormalisedUtilisation third{1, Khz{3}};
    const NormalisedUtilisation two_sixths{2, Khz{6}};
    const NormalisedUtilisation more{20'000'000ULL * 1'000'000ULL - 1, Khz{20'000'000}};
    const NormalisedUtilisation most{19'999'999ULL * 1'000'000ULL, Khz{19'999'999}};
    EXPECT_FALSE(third < two_sixths);
    EXPECT_FALSE(two_sixths < third);
    EXPECT_TRUE(more < most);
    EXPECT_FALSE(most < more);
    EXPECT_TRUE((NormalisedUtilisation{1, Khz{7}} < third));
}

TEST(Uafp, refuses_values_that_descend_or_no_ladder_could_have) {
    Uafp::Values values{};
    values.fill(Khz{1});
    EXPECT_TRUE(Uafp::from(values));
    values.at(3) = Khz{2};
    EXPECT_FALSE(Uafp::from(values));
    values.fill(Khz{0});
    EXPECT_FALSE(Uafp::from(values));
    values.fill(Khz{20'000'000});
    EXPECT_TRUE(Uafp::from(values));
    values.fill(Khz{20'000'001});
    EXPECT_FALSE(Uafp::from(values));
}

TEST(Uafp, learns_at_a_level_raising_what_is_above_and_lowering_what_is_below) {
    Uafp profile = uafp({8, 8, 8, 12, 12, 16, 16, 22, 22, 23});
    profile.learn(Level{6}, Khz{12});
    EXPECT_EQ(profile, uafp({8, 8, 8, 12, 12, 12, 12, 22, 22, 23}));
    profile.learn(Level{2}, Khz{16});
    EXPECT_EQ(profile, uafp({8, 8, 16, 16, 16, 16, 16, 22, 22, 23}));
    EXPECT_EQ(profile.at(Level{7}), Khz{22});
}

TEST(LowerMedian, is_taken_at_each_level) {
    const std::array odd{uafp({1, 1, 1, 1, 1, 1, 1, 1, 1, 9}), uafp({2, 2, 2, 2, 2, 2, 2, 2, 2, 2}),
                         uafp({3, 3, 3, 3, 3, 3, 3, 3, 3, 3})};
    EXPECT_EQ(lower_median(odd), uafp({2, 2, 2, 2, 2, 2, 2, 2, 2, 3}));
    EXPECT_EQ(lower_median(std::span(odd).first(2)), uafp({1, 1, 1, 1, 1, 1, 1, 1, 1, 2}));
    EXPECT_EQ(lower_median(std::span(odd).first(1)), odd[0]);
    const std::array steep{uafp({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})};
    EXPECT_EQ(lower_median(steep), steep[0]);
}

TEST(ProfileBook, gives_an_unknown_application_the_median_of_its_users_others_if_asked_to) {
    ProfileBook warm(Uafp(Khz{8}), true);
    ProfileBook cold(Uafp(Khz{8}), false);
    const Served known{"alice", "torcs"};
    for (ProfileBook* const book : {&warm, &cold}) {
        book->put(known, Uafp(Khz{16}));
        book->put({"bob", "torcs"}, Uafp(Khz{23}));
        EXPECT_TRUE(book->knows(known));
        EXPECT_EQ(book->profile(known), Uafp(Khz{16}));
        EXPECT_EQ(book->profile({"carol", "glest"}), Uafp(Khz{8}));
    }
    EXPECT_EQ(warm.profile({"alice", "glest"}), Uafp(Khz{16}));
    EXPECT_FALSE(warm.knows({"alice", "glest"}));
    EXPECT_EQ(cold.profile({"alice", "glest"}), Uafp(Khz{8}));
}

}  // namespace
}  // namespace happe
