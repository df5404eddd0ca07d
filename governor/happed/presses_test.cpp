// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/presses.h"

#include <gtest/gtest.h>

namespace happe {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kNow{1h};

int taken(PressAllowance& allowance, MonoTime at) {
    int count = 0;
    while (allowance.take(at)) {
        ++count;
    }
    return count;
}

TEST(PressAllowance, IsTenAtOnce) {
    PressAllowance allowance;
    EXPECT_EQ(taken(allowance, kNow), 10);
}

TEST(PressAllowance, ThenIsOneInATenthOfASecond) {
    PressAllowance allowance;
    taken(allowance, kNow);
    EXPECT_EQ(taken(allowance, kNow + 99'999us), 0);
    EXPECT_EQ(taken(allowance, kNow + 100ms), 1);
    EXPECT_EQ(taken(allowance, kNow + 400ms), 3);
}

TEST(PressAllowance, IsNoMoreAfterALongPause) {
    PressAllowance allowance;
    taken(allowance, kNow);
    EXPECT_EQ(taken(allowance, kNow + 1h), 10);
}

}  // namespace
}  // namespace happe
