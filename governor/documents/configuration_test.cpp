// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/configuration.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <fstream>
#include <regex>

namespace happe {
namespace {

const std::string kWhole = R"(
mode = "observe"
feedback = "next-sample"
period_ms = 500
domains = "policy"
ladder_steps = 32
[keys]
performance = "LEFTCTRL+KEY_F12"
power = "LEFTCTRL+KEY_F11"
[algorithm]
mode = "extended"
warm_start = true
floor_percent = 30
idle_hint_minutes = 5
[calibration]
800000 = 800000
2201000 = 2300000
)";

Settings warm() {
    Settings settings = kExtended;
    settings.warm_start = true;
    return settings;
}

Configuration whole() {
    return {.observe = true,
            .immediate = false,
            .period = std::chrono::milliseconds{500},
            .together = false,
            .ladder_steps = 32,
            .performance_key = "LEFTCTRL+KEY_F12",
            .power_key = "LEFTCTRL+KEY_F11",
            .algorithm = warm(),
            .floor_percent = 30,
            .hint_delay = std::chrono::minutes{5},
            .calibration = {{Khz{800'000}, Khz{800'000}}, {Khz{2'201'000}, Khz{2'300'000}}}};
}

// The error for a text; empty if the text is valid.
std::string complaint(std::string_view text, const KeyCheck& check = {}) {
    const auto read = read_configuration(text, "f", check);
    return read ? "" : read.error().message;
}

std::string file(const std::string& path) {
    std::ifstream stream(HAPPE_SOURCE_DIR "/" + path);
    EXPECT_TRUE(stream) << path;
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Configuration, NothingGivenIsTheDefault) {
    EXPECT_EQ(*read_configuration("", "f"), Configuration());
    EXPECT_EQ(*read_configuration("# a comment\n[keys]\n[algorithm]\n[calibration]\n", "f"), Configuration());
}

TEST(Configuration, EveryOptionIsRead) {
    EXPECT_EQ(*read_configuration(kWhole, "f"), whole());
}

TEST(Configuration, AllMistakesAreSaidWithFileLineAndOptionInTheOrderOfTheFile) {
    const std::string text = "period_ms = 5\n[keys]\npower = 1\n[algorithm]\nmode = \"papre\"\n[nonsense]\nx = 1\n";
    EXPECT_EQ(complaint(text),
              "f:1: period_ms: must be 100 to 10000, is 5\n"
              "f:3: keys.power: must be the name of a key, 1 to 64 characters of ASCII, is 1\n"
              "f:5: algorithm.mode: must be \"paper\" or \"extended\", is \"papre\"\n"
              "f:6: nonsense: unknown");
}

TEST(Configuration, OfManyMistakesTwentyAreSaidAndTheRestCounted) {
    std::string text;
    for (int i = 0; i < 25; ++i) {
        text += fmt::format("zz{:02} = 1\n", i);
    }
    const std::string said = complaint(text);
    EXPECT_EQ(std::ranges::count(said, '\n'), 20);
    EXPECT_TRUE(said.ends_with("\nf:20: zz19: unknown\nf: and 5 more mistakes")) << said;
}

TEST(Configuration, AnUnknownNameIsRefusedWithTheNearest) {
    EXPECT_EQ(complaint("perod_ms = 1000"), "f:1: perod_ms: unknown; did you mean period_ms?");
    EXPECT_EQ(complaint("[keys]\npowre = 'A'"), "f:2: keys.powre: unknown; did you mean keys.power?");
    EXPECT_EQ(complaint("[key]\npower = 'A'"), "f:1: key: unknown; did you mean keys?");
    EXPECT_EQ(complaint("warm_start = true"), "f:1: warm_start: unknown; did you mean algorithm.warm_start?");
    EXPECT_EQ(complaint("x = 1"), "f:1: x: unknown");
    EXPECT_EQ(complaint("database = '/tmp/x'"), "f:1: database: unknown");
}

TEST(Configuration, ADotInQuotesIsPartOfAName) {
    EXPECT_EQ(complaint("\"keys.power\" = 'KEY_PROG3'"), "f:1: \"keys.power\": unknown; did you mean keys.power?");
    EXPECT_EQ(complaint("'' = 1"), "f:1: \"\": unknown");
}

TEST(Configuration, AnOptionIsNotATableNorATableAnOption) {
    EXPECT_EQ(complaint("[mode]\nx = 1"), "f:1: mode: must be \"govern\" or \"observe\", is a table");
    EXPECT_EQ(complaint("keys = 1"), "f:1: keys: must be a table, is 1");
    EXPECT_EQ(complaint("[[keys]]\npower = 'A'"), "f:1: keys: must be a table, is an array");
    EXPECT_EQ(complaint("calibration = 1"),
              "f:1: calibration: must be a table of 0 to 64 frequencies in kHz, both columns ascending, is 1");
}

TEST(Configuration, NoOptionTakesAValueOfAnotherType) {
    for (const ConfigurationOption& option : configuration_options()) {
        for (const std::string value : {"1.5", "nan", "-inf", "[]", "[1]", "[[]]", "1979-05-27", "07:32:00",
                                        "1979-05-27T07:32:00Z", "''", "\"\"", "-1", "99999999999", "{ x = 1 }"}) {
            const std::string said = complaint(fmt::format("{} = {}", option.name, value));
            EXPECT_TRUE(said.starts_with(fmt::format("f:1: {}", option.name))) << value << ": " << said;
        }
    }
}

// The reader accepts a number's limits, and refuses numbers beyond them.
TEST(Configuration, EveryRangeHoldsToItsLimits) {
    int ranges = 0;
    for (const ConfigurationOption& option : configuration_options()) {
        if (const auto* const range = std::get_if<AcceptsNumber>(&option.accepts)) {
            ++ranges;
            const std::string head = option.extended ? "algorithm.mode = 'extended'\n" : "";
            const auto given = [&](std::int64_t value) { return fmt::format("{}{} = {}", head, option.name, value); };
            for (const std::uint32_t good : {range->least, range->most}) {
                EXPECT_EQ(option.get(read_configuration(given(good), "f").value()), OptionValue(good));
            }
            for (const std::int64_t bad : {std::int64_t{range->least} - 1, std::int64_t{range->most} + 1, INT64_MAX,
                                           INT64_MIN, std::int64_t{UINT32_MAX} + 1 + range->least}) {
                EXPECT_NE(complaint(given(bad)).find("must be " + in_words(option.accepts)), std::string::npos);
            }
        }
    }
    EXPECT_EQ(ranges, 4);
}

TEST(Configuration, EveryWordOfAChoiceIsTakenAndNoOther) {
    for (const ConfigurationOption& option : configuration_options()) {
        if (const auto* const choice = std::get_if<AcceptsWord>(&option.accepts)) {
            for (const std::string_view word : choice->words) {
                const auto read = read_configuration(fmt::format("{} = '{}'", option.name, word), "f");
                EXPECT_EQ(option.get(read.value()), OptionValue(std::string(word)));
                EXPECT_NE(complaint(fmt::format("{} = '{}x'", option.name, word)), "");
            }
        }
    }
}

TEST(Configuration, WhatThePaperDoesNotHaveIsRefusedUnlessExtended) {
    const std::string refused = "algorithm.warm_start: only with algorithm.mode = \"extended\"";
    EXPECT_EQ(complaint("[algorithm]\nwarm_start = false"), "f:2: " + refused);
    EXPECT_EQ(complaint("[algorithm]\nmode = \"paper\"\nwarm_start = false"), "f:3: " + refused);
    EXPECT_EQ(complaint("[algorithm]\nmode = \"extended\"\nwarm_start = false"), "");
}

TEST(Configuration, TheTwoKeysDiffer) {
    EXPECT_EQ(complaint("[keys]\nperformance = 'KEY_PROG2'"), "f:2: keys.performance: both keys are \"KEY_PROG2\"");
    EXPECT_EQ(complaint("[keys]\nperformance = 'A'\npower = 'A'"), "f:3: keys.power: both keys are \"A\"");
}

TEST(Configuration, AKeyHas1To64CharactersOfAscii) {
    EXPECT_EQ(complaint("keys.power = '" + std::string(64, 'K') + "'"), "");
    for (const std::string key : {"''", "\"\\u0000\"", "\"\\n\"", "'é'"}) {
        EXPECT_TRUE(complaint("keys.power = " + key).starts_with("f:1: keys.power: must be the name of a key"));
    }
    EXPECT_NE(complaint("keys.power = '" + std::string(65, 'K') + "'"), "");
}

TEST(Configuration, AKeyThatCannotBeBoundIsRefusedWithTheReason) {
    const KeyCheck check = [](std::string_view key) {
        return key == "KEY_A" ? Status(failure("types text")) : Status();
    };
    EXPECT_EQ(complaint("\nkeys.performance = 'KEY_A'", check), "f:2: keys.performance: types text");
    EXPECT_EQ(complaint("\nkeys.performance = 'KEY_PROG3'", check), "");
}

TEST(Configuration, CalibrationIsFrequenciesThatAscendInBothColumns) {
    const auto said = [](const std::string& entries) { return complaint("[calibration]\n" + entries); };
    EXPECT_EQ(said("1 = 1\n20000000 = 20000000"), "");
    EXPECT_EQ(said("9 = 1\n10 = 2"), "");  // in the order of numbers, not of text
    EXPECT_EQ(said("800000 = 2\n2201000 = 2"), "f:3: calibration.2201000: must be above 2, the speed of 800000");
    EXPECT_EQ(said("2201000 = 1\n800000 = 2"), "f:2: calibration.2201000: must be above 2, the speed of 800000");
    EXPECT_EQ(said("1 = 0"), "f:2: calibration.1: must be 1 to 20000000 kHz, is 0");
    EXPECT_EQ(said("1 = 20000001"), "f:2: calibration.1: must be 1 to 20000000 kHz, is 20000001");
    EXPECT_EQ(said("1 = true"), "f:2: calibration.1: must be a frequency in kHz, is true or false");
    EXPECT_EQ(said("1 = 1.0"), "f:2: calibration.1: must be a frequency in kHz, is a number with a point");
}

TEST(Configuration, ListedFrequenciesAreNumbersWrittenOneWay) {
    for (const std::string key : {"0", "01", "-1", "'+1'", "x", "1x", "''", "' 1'", "'1 '", "20000001", "1.5",
                                  "99999999999999999999", "0x10", "1_000"}) {
        const std::string said = complaint(fmt::format("[calibration]\n{} = 1", key));
        EXPECT_TRUE(said.starts_with("f:2: calibration.")) << key << ": " << said;
    }
}

TEST(Configuration, CalibrationHas64EntriesAtMost) {
    std::string text = "[calibration]\n";
    for (int khz = 1; khz <= 64; ++khz) {
        text += fmt::format("{0} = {0}\n", khz);
    }
    EXPECT_EQ(complaint(text), "");
    EXPECT_TRUE(complaint(text + "65 = 65\n").ends_with("both columns ascending, has 65"));
}

TEST(Configuration, TextThatIsNotTomlIsRefusedWithItsLine) {
    for (const std::string text :
         {"mode", "mode =", "mode = govern", "= 1", "[keys", "[]", "period_ms = 1e", "period_ms = 01000", "mode = \"",
          "mode = 'a\nb'", "period_ms = 99999999999999999999", "mode = \"\\q\"", "{\"mode\": \"govern\"}",
          "mode = 'govern' feedback = 'immediate'", "\x01"}) {
        EXPECT_TRUE(complaint("\n" + text).starts_with("f:2: not TOML: ")) << text << ": " << complaint("\n" + text);
    }
    EXPECT_TRUE(complaint(std::string("mode = 'govern'\n\0", 17)).starts_with("f:2: not TOML: "));
    EXPECT_TRUE(complaint(std::string("# \0\n", 4)).starts_with("f:1: not TOML: "));
}

TEST(Configuration, TextThatIsNotUtf8IsRefusedWithItsLine) {
    for (const std::string text : {"\xFF", "mode = '\xC3'", "# \x80", "mode = \"\xED\xA0\x80\"", "# \xC0\x80\n"}) {
        EXPECT_EQ(complaint("\n# " + std::string(1'000, 'x') + "\n" + text), "f:3: not UTF-8");
    }
}

TEST(Configuration, ATooLongFileIsRefusedUnread) {
    const std::string longest((std::size_t{64} << 10U) - 1, '#');
    EXPECT_EQ(complaint(longest + "\n"), "");
    EXPECT_EQ(complaint(longest + "\n\n"), "f:1: longer than 65536 bytes");
}

TEST(Configuration, DeepNestingIsRefused) {
    std::string dotted = "a";
    for (int i = 0; i < 999; ++i) {
        dotted += ".a";
    }
    EXPECT_EQ(complaint(dotted + " = 1"), "f:1: a: unknown");
    EXPECT_EQ(complaint("[" + dotted + ".a.a]"), "f:1: more than 1000 dots");
    EXPECT_TRUE(complaint("x = " + std::string(30'000, '[')).starts_with("f:1: not TOML: "));
    std::string inline_tables = "x = ";
    for (int i = 0; i < 10'000; ++i) {
        inline_tables += "{a=";
    }
    EXPECT_TRUE(complaint(inline_tables).starts_with("f:1: not TOML: "));
}

TEST(Configuration, WhatAMessageQuotesIsShortAndOnOneLine) {
    EXPECT_EQ(complaint("\"a\\nb\\u0000\" = 1"), "f:1: \"a\\x0ab\\x00\": unknown");
    const std::string said = complaint("mode = '" + std::string(1, 'x') + std::string(9'999, ' ') + "é'");
    EXPECT_LT(said.size(), 300);
    EXPECT_EQ(complaint("'" + std::string(99, 'k') + "éé' = 1"), "f:1: \"" + std::string(99, 'k') + "é...\": unknown");
}

TEST(Configuration, SettingsAreDescribedWholeAndReadBackAsTheyWere) {
    std::string text;
    for (const auto& [name, value] : describe_settings(whole())) {
        text += fmt::format("{} = {}\n", name, in_toml(value));
    }
    EXPECT_EQ(*read_configuration(text, "f"), whole());
    EXPECT_EQ(describe_settings(whole()).size(), configuration_options().size());
}

TEST(Configuration, AValueIsQuotedAsTomlWantsIt) {
    EXPECT_EQ(in_toml(std::string("a\"\\b")), R"("a\"\\b")");
    EXPECT_EQ(in_toml(Calibration()), "{}");
    EXPECT_EQ(in_toml(whole().calibration), "{ 800000 = 800000, 2201000 = 2300000 }");
}

TEST(ConfigurationOptions, AnExampleIsGoodAndNotTheDefault) {
    for (const ConfigurationOption& option : configuration_options()) {
        const std::string head = option.extended ? "algorithm.mode = \"extended\"\n" : "";
        const auto read = read_configuration(fmt::format("{}{} = {}", head, option.name, option.example), "f");
        EXPECT_EQ(in_toml(option.get(read.value())), option.example);
        EXPECT_NE(option.get(*read), option.get(Configuration())) << option.name;
    }
}

std::string without_comments(const std::string& text) {
    return std::regex_replace(text, std::regex("(^|\n)#(?=[a-z0-9_]+ = )"), "$1");
}

TEST(DefaultFile, SetsTheOwnersModeAndNothingElse) {
    EXPECT_EQ(*read_configuration(file("packaging/happe.toml"), "happe.toml"),
              *read_configuration("algorithm.mode = 'extended'", "f"));
}

TEST(DefaultFile, HasEveryOptionAndIsValidWithoutItsCommentSigns) {
    const std::string text = file("packaging/happe.toml");
    for (const ConfigurationOption& option : configuration_options()) {
        const std::string name(option.name.substr(option.name.rfind('.') + 1));
        EXPECT_NE(text.find(option.name == "calibration" ? "[calibration]" : name + " = "), std::string::npos) << name;
    }
    const auto read = read_configuration(without_comments(text), "happe.toml");
    ASSERT_TRUE(read) << read.error().message;
    Configuration expected = *read_configuration("algorithm.mode = 'extended'", "f");
    expected.calibration = {{Khz{2'201'000}, Khz{2'300'000}}};
    EXPECT_EQ(*read, expected);
}

}  // namespace
}  // namespace happe
