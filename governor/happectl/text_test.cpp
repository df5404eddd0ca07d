// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/text.h"

#include "governor/documents/printable.h"

#include <gtest/gtest.h>
#include <clocale>

namespace happe::ctl {
namespace {

constexpr Style kAscii{};
constexpr Style kUnicode{.unicode = true};

class Text : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }
};

TEST_F(Text, ShowsWhatCanBeShown) {
    EXPECT_EQ(printable("torcs 1.3", kUnicode), "torcs 1.3");
    EXPECT_EQ(printable("bj\u00f6rn \u4e16", kUnicode), "bj\u00f6rn \u4e16");
    EXPECT_EQ(printable("bj\u00f6rn \u4e16", kAscii), "bj\\xf6rn \\u4e16");
}

TEST_F(Text, MakesVisibleWhatATerminalWouldObey) {
    EXPECT_EQ(printable("\x1b[2J\r\n\x07\x7f", kUnicode), "\\x1b[2J\\x0d\\x0a\\x07\\x7f");
    EXPECT_EQ(printable("\u009b31m", kUnicode), "\\x9b31m");
    EXPECT_EQ(printable("\u202egnp\u200b\ufeff\u2066", kUnicode), "\\u202egnp\\u200b\\ufeff\\u2066");
    EXPECT_EQ(printable("\U000e0041", kUnicode), "\\U000e0041");
    EXPECT_EQ(printable(std::string_view("a\0b", 3), kUnicode), "a\\x00b");
}

TEST_F(Text, MakesInvalidUtf8Visible) {
    EXPECT_EQ(printable("\xff\xfe", kUnicode), "\\xff\\xfe");
    EXPECT_EQ(printable("\xc0\x80", kUnicode), "\\xc0\\x80");           // overlong NUL
    EXPECT_EQ(printable("\xe0\x80\x9b", kUnicode), "\\xe0\\x80\\x9b");  // overlong CSI
    EXPECT_EQ(printable("\xed\xa0\x80", kUnicode), "\\xed\\xa0\\x80");  // a surrogate
    EXPECT_EQ(printable("\xf4\x90\x80\x80", kUnicode), "\\xf4\\x90\\x80\\x80");
    EXPECT_EQ(printable("\xe4\xb8", kUnicode), "\\xe4\\xb8");  // truncated
    EXPECT_EQ(printable("\xe4[2J", kUnicode), "\\xe4[2J");
}

TEST_F(Text, EndsWhatIsVeryLong) {
    const std::string shown = printable(std::string(1'000'000, 'a'), kUnicode);
    EXPECT_EQ(shown.size(), 1'003);
    EXPECT_TRUE(shown.ends_with("a..."));
}

TEST_F(Text, CutsToColumnsAndNotToBytes) {
    EXPECT_EQ(width("bj\u00f6rn"), 5);
    EXPECT_EQ(width("\u4e16\u754c"), 4);
    EXPECT_EQ(fit("\u4e16\u754c", 4), "\u4e16\u754c");
    EXPECT_EQ(fit("\u4e16\u754c", 3), "\u4e16~");
    EXPECT_EQ(fit("abcd", 1), "~");
    EXPECT_EQ(fit("abcd", 0), "abcd");
}

TEST_F(Text, AlignsATablesColumns) {
    EXPECT_EQ(table({{"a", "b"}, {"\u4e16", "1"}}, kUnicode), "a   b\n\u4e16  1\n");
    EXPECT_EQ(table({{"a", "bcdef"}}, {.unicode = true, .columns = 5}), "a  b~\n");
    EXPECT_EQ(table({}, kUnicode), "");
}

TEST_F(Text, HasUnitsOfPeople) {
    EXPECT_EQ(gigahertz(Khz{800'000}), "0.8 GHz");
    EXPECT_EQ(gigahertz(Khz{2'000'000}), "2.0 GHz");
    EXPECT_EQ(gigahertz(Khz{2'201'000}), "2.201 GHz");
    EXPECT_EQ(gigahertz(Khz{0}), "0.0 GHz");
    EXPECT_EQ(percent(Ppm{1'000'000}), "100 %");
    EXPECT_EQ(number_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
    EXPECT_EQ(number_list({4'294'967'295, 0}), "4294967295,0");  // hostile: no wrap-around
    EXPECT_EQ(number_list({}), "");
}

TEST_F(Text, HasTimesBeforeAndAfter1970) {
    EXPECT_EQ(utc_time(0), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(utc_time(-1), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(utc_time(1'773'458'040'000'123), "2026-03-14T03:14:00.000123Z");
    EXPECT_NE(utc_time(INT64_MAX), "");
    EXPECT_NE(utc_time(INT64_MIN), "");
}

}  // namespace
}  // namespace happe::ctl
