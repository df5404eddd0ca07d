// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/days.h"

#include <gtest/gtest.h>

namespace happe::study {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kFour = 4 * kHour;
constexpr std::int64_t kSix = 6 * kHour;

// The time this many hours after midnight of a winter day, in a country an hour east of Greenwich.
WallTime at(double hours) {
    return {.unix_s = 1'793'404'800 - kHour + static_cast<std::int64_t>(hours * kHour), .utc_offset_s = kHour};
}

Day begun(double hours) {
    return {.began_s = at(hours).unix_s, .date = day_of(at(hours), kFour), .rating = {}};
}

bool over(double began, double now) {
    return is_over(begun(began), at(now), kFour, kSix);
}

TEST(Days, BeginAtFourOfLocalTime) {
    const std::int64_t today = day_of(at(4), kFour);
    EXPECT_EQ(day_of(at(3.999), kFour), today - 1);
    EXPECT_EQ(day_of(at(27.999), kFour), today);
    EXPECT_EQ(day_of(at(28), kFour), today + 1);
    EXPECT_EQ(day_of(at(0), 0), day_of(at(23.999), 0)) << "at midnight, if somebody says so";
    EXPECT_EQ(day_of({.unix_s = -1, .utc_offset_s = 0}, 0), -1);
}

TEST(Days, EndWithTheNextOneOrAfterTheirLeastTime) {
    EXPECT_FALSE(over(9, 27.9)) << "late at night";
    EXPECT_TRUE(over(9, 28));
    EXPECT_FALSE(over(23.8, 29.7)) << "begun at ten to twelve, and in the morning it has not lasted six hours";
    EXPECT_TRUE(over(23.8, 29.8));
    EXPECT_FALSE(over(4, 27)) << "long ago, and still the same day";
    EXPECT_FALSE(over(9, 8)) << "somebody has set the clock back";
}

TEST(Days, HavePiecesThatTheServerTakes) {
    EXPECT_EQ(longest_piece_s(1), 230 * 60);
    EXPECT_EQ(longest_piece_s(0), 230 * 60) << "an unknown number";
    for (const int cpus : {8, 16, 32, 64, 256}) {
        const std::int64_t seconds = longest_piece_s(cpus);
        EXPECT_LT(seconds * (130 + 65 * cpus), std::int64_t{8} << 20) << cpus;
        EXPECT_GT(seconds, 400) << cpus;
    }
}

TEST(Days, ARunsTurnDecidesWithItsDay) {
    const Day day = begun(9);
    EXPECT_EQ(doing(Turn::Handout, {}, false, false), Doing::Read);
    EXPECT_EQ(doing(Turn::Ready, {}, false, false), Doing::Begin);
    EXPECT_EQ(doing(Turn::Ready, day, false, false), Doing::Begin) << "another piece";
    EXPECT_EQ(doing(Turn::Ready, day, false, true), Doing::EndDay);
    EXPECT_EQ(doing(Turn::Interrupted, day, true, false), Doing::Wait);
    EXPECT_EQ(doing(Turn::Interrupted, day, true, true), Doing::EndPiece);
    EXPECT_EQ(doing(Turn::Interrupted, day, false, false), Doing::Recover);
    EXPECT_EQ(doing(Turn::Interrupted, day, false, true), Doing::Recover) << "first the piece, then the day's end";
    EXPECT_EQ(doing(Turn::Rate, day, false, true), Doing::Rate);
    EXPECT_EQ(doing(Turn::Guess, day, false, true), Doing::Guess);
    EXPECT_EQ(doing(Turn::Stopped, day, false, false), Doing::Stopped);
    EXPECT_EQ(doing(Turn::Finished, {}, false, false), Doing::Finished);
}

}  // namespace
}  // namespace happe::study
