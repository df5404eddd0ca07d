// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/sources.h"

#include <gtest/gtest.h>
#include <cstdlib>

namespace happe::ui {
namespace {

using namespace std::string_view_literals;

TEST(ClassIn, IsTheSecondString) {
    EXPECT_EQ(class_in("navigator\0Firefox\0"sv), "Firefox");
    EXPECT_EQ(class_in("navigator\0Firefox"sv), "Firefox");
    EXPECT_EQ(class_in("a\0b\0c\0"sv), "b");
}

// Without an X server. ui/tests tests the answers of a real one.
TEST(Checked, BelievesNoClaimOfAnX11Client) {
    ::unsetenv("DISPLAY");
    EXPECT_EQ(checked({.focus = {.pid = 1, .id = "game"}, .x11_window = 4'194'316}), std::nullopt);
    EXPECT_EQ(checked({.focus = {.pid = 7, .id = "game"}}), (Focus{.pid = 7, .id = "game"}));
}

TEST(ClassIn, IsEmptyWhereThereIsNone) {
    for (const std::string_view property : {""sv, "\0"sv, "\0\0"sv, "navigator"sv, "navigator\0"sv, "\0\0Firefox"sv}) {
        EXPECT_EQ(class_in(property), "");
    }
    EXPECT_EQ(class_in("a\0\xff\xfe"sv).size(), 2);  // no UTF-8: becomes two replacement characters
}

}  // namespace
}  // namespace happe::ui
