// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/setup/setup_text.h"

#include <gtest/gtest.h>

namespace happe::ctl {
namespace {

// A ThinkPad's keyboard and its extra buttons, as a 64-bit kernel prints them: KEY_PROG1 is bit 148, KEY_UP 103.
constexpr std::string_view kDevices =
    "I: Bus=0011 Vendor=0001 Product=0001 Version=ab54\n"
    "N: Name=\"AT Translated Set 2 keyboard\"\n"
    "B: EV=120013\n"
    "B: KEY=402000000 3803078f800d001 feffffdfffefffff fffffffffffffffe\n"
    "\n"
    "N: Name=\"ThinkPad Extra Buttons\"\n"
    "B: KEY=700000 0 0\n";

const Decided kProg{.observe = false, .keys = {"KEY_PROG3", "KEY_PROG4"}};

TEST(SetupKeys, AreThoseThatAKeyboardHas) {
    EXPECT_TRUE(has_keys(kDevices, {"CTRL+META+KEY_UP", "CTRL+META+KEY_DOWN"}));
    EXPECT_TRUE(has_keys(kDevices, {"KEY_PROG1", "KEY_PROG2"}));   // bits 148 and 149: 0x300000 << 128
    EXPECT_FALSE(has_keys(kDevices, {"KEY_PROG3", "KEY_PROG4"}));  // bits 202 and 203
    EXPECT_FALSE(has_keys(kDevices, {"KEY_PROG1", "KEY_UP"}));     // not on one keyboard
    EXPECT_FALSE(has_keys(kDevices, {"KEY_PROG1", "KEY_NONSENSE"}));
    EXPECT_FALSE(has_keys("", {"KEY_PROG1", "KEY_PROG2"}));
}

TEST(SetupKeys, CanAllBeBound) {
    for (const KeyPair& keys : kLikelyKeys) {
        EXPECT_TRUE(has_keys("B: KEY=ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff\n", keys))
            << keys.performance;
    }
}

TEST(SetupConfiguration, IsWrittenWhereItIsShown) {
    const std::string text =
        "# comment\n#mode = \"govern\"\n\nperiod_ms = 500 # mine\n[keys]\n#performance = \"KEY_PROG1\"\n"
        "  power = \"KEY_F13\"\n[calibration]\n2201000 = 2300000\n";
    const auto changed =
        with_choices(text, choices_of(Decided{.observe = true, .keys = {"KEY_PROG3", "KEY_PROG4"}}), "happe.toml");
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(*changed,
              "# comment\nmode = \"observe\"\n\nperiod_ms = 500 # mine\n[keys]\nperformance = \"KEY_PROG3\"\n"
              "power = \"KEY_PROG4\"\n[calibration]\n2201000 = 2300000\n");
}

TEST(SetupKeys, AreWrittenAloneAndCommentsStay) {
    const std::string text =
        "# mine\n#mode = \"govern\"\n[keys] # two\nperformance = 'KEY_F1' # left of the #1\n\t# not this\n"
        "#power = \"KEY_PROG2\" # shown\n[algorithm]\n# performance = \"KEY_F2\"";
    const auto changed = with_choices(text, choices_of(kProg.keys), "happe.toml");
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(*changed,
              "# mine\n#mode = \"govern\"\n[keys] # two\nperformance = \"KEY_PROG3\" # left of the #1\n\t# not this\n"
              "power = \"KEY_PROG4\"\n[algorithm]\n# performance = \"KEY_F2\"\n");
    EXPECT_EQ(with_choices("mode = \"observe\"\n", choices_of(kProg.keys), "f").value_or("?"),
              "mode = \"observe\"\n\n[keys]\nperformance = \"KEY_PROG3\"\npower = \"KEY_PROG4\"\n");
}

TEST(SetupKeys, AreNotWrittenIntoWhatOnlyLooksLikeThem) {
    for (const char* const text :
         {"keys.performance = \"KEY_F1\"\n", "mode = \"\"\"govern\"\"\"\nkeys = {power = \"KEY_F1\"}",
          "[keys]\nperformance = \"\"\"\nKEY_F1\"\"\"\n", "[\"keys\"]\nperformance = \"KEY_F1\"\n"}) {
        const auto changed = with_choices(text, choices_of(kProg.keys), "f");
        ASSERT_FALSE(changed) << text;
        EXPECT_EQ(changed.error().status, EX_DATAERR);
        EXPECT_EQ(changed.error().message,
                  "f: is written in a way that happectl cannot change; change it by hand to keys.performance = "
                  "\"KEY_PROG3\", keys.power = \"KEY_PROG4\"");
    }
    const auto twice = with_choices("[keys]\npower = \"KEY_F1\"\npower = \"KEY_F2\"\n", choices_of(kProg.keys), "f");
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().message.substr(0, 4), "f:3:");
}

TEST(SetupConfiguration, IsAddedWhereItIsNot) {
    EXPECT_EQ(with_choices("", choices_of(kProg), "f").value_or("?"),
              "mode = \"govern\"\n\n[keys]\nperformance = \"KEY_PROG3\"\npower = \"KEY_PROG4\"\n");
    EXPECT_EQ(with_choices("feedback = \"next-sample\"\n\n[keys] # mine\n\n[algorithm]\n", choices_of(kProg), "f")
                  .value_or("?"),
              "feedback = \"next-sample\"\nmode = \"govern\"\n\n[keys] # mine\nperformance = \"KEY_PROG3\"\n"
              "power = \"KEY_PROG4\"\n\n[algorithm]\n");
}

TEST(SetupConfiguration, IsLeftAsItIsIfItSaysSoAlready) {
    const std::string text = "keys = {performance = \"KEY_PROG3\", power = \"KEY_PROG4\"}";
    EXPECT_EQ(with_choices(text, choices_of(kProg), "f").value_or("?"), text);
}

TEST(SetupConfiguration, IsNotTouchedWhereItCannotBeUnderstood) {
    const auto inlined = with_choices("keys = {performance = \"KEY_PROG1\"}\n", choices_of(kProg), "f");
    ASSERT_FALSE(inlined);
    EXPECT_EQ(inlined.error().status, EX_DATAERR);
    EXPECT_NE(inlined.error().message.find("f: is written in a way"), std::string::npos);
    const auto broken = with_choices("mode = \n", choices_of(kProg), "f");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().message.substr(0, 4), "f:1:");
}

TEST(WordsOfASetting, AreAddedAndTakenAway) {
    EXPECT_EQ(with_word("@as []", "happe@happe.org", true), "['happe@happe.org']");
    EXPECT_EQ(with_word("['happe@happe.org']", "happe@happe.org", false), "[]");
    EXPECT_EQ(with_word("['a@b', \"it's\", 'c\\'d']", "happe@happe.org", true),
              "['a@b', \"it's\", 'c\\'d', 'happe@happe.org']");
    EXPECT_EQ(with_word("['a@b', 'happe@happe.org', 'c']", "happe@happe.org", false), "['a@b', 'c']");
    EXPECT_TRUE(has_word("['a@b', 'happe@happe.org']", "happe@happe.org"));
    EXPECT_FALSE(has_word("['not-happe@happe.org', 'happe@happe.org.uk']", "happe@happe.org"));
}

}  // namespace
}  // namespace happe::ctl
