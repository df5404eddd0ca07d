// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/runs/run_facts.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

using nlohmann::json;

MonoTime at(std::int64_t micros) {
    return MonoTime(Micros(micros));
}

struct RunFactsTest : testing::Test {
    RunFacts facts{at(1'000'000), {.application = "torcs", .indicator = true}};
    json document() const { return json::parse(facts.document(at(9'000'000), "1.2.3")); }
};

TEST_F(RunFactsTest, OfARunWithoutEventsAreItsTimesAndIndicator) {
    const json seen = document();
    EXPECT_EQ(seen["started_us"], 1'000'000);
    EXPECT_EQ(seen["ended_us"], 9'000'000);
    EXPECT_EQ(seen["indicator"], true);
    EXPECT_EQ(seen["software"], json({{"happed", "1.2.3"}}));
    EXPECT_TRUE(seen["profile_before"].is_null());
    EXPECT_TRUE(seen["profile_after"].is_null());
    EXPECT_EQ(seen["learned"], json::array());
    EXPECT_FALSE(seen.contains("interruptions"));
}

TEST_F(RunFactsTest, TheClockIsTheBoots) {
    const std::string clock = document()["clock"];
    EXPECT_TRUE(clock.starts_with("monotonic:"));
    EXPECT_EQ(clock.size(), 10U + 36U);
}

TEST_F(RunFactsTest, ALessonIsKeptWithTheProfileItLeadsTo) {
    const Uafp before(Khz{800'000});
    Uafp after = before;
    after.learn(Level{3}, Khz{1'200'000});
    const Decision decision{.lesson = Lesson{.key = Key::Power,
                                             .policy = {0},
                                             .level = {3},
                                             .from = {800'000},
                                             .to = {1'200'000},
                                             .current = {1'600'000},
                                             .utilisation = {970'000}}};
    const Served whom{"subject:p", "torcs"};

    facts.turned({.at = at(2'000'000), .served = &whom, .decision = decision, .before = &before, .uafp = &after});
    facts.turned({.at = at(3'000'000), .served = &whom, .decision = Decision(), .before = &after, .uafp = &before});

    const json seen = document();
    EXPECT_EQ(seen["profile_before"], json(std::vector<int>(10, 800'000)));
    EXPECT_EQ(seen["profile_after"], seen["learned"][0]["uafp_khz"]);
    EXPECT_EQ(seen["learned"], json::parse(R"([{"t_us":2000000,"key":"power","policy":0,"level":3,"from_khz":800000,
        "to_khz":1200000,"cur_khz":1600000,"util_ppm":970000,
        "uafp_khz":[800000,800000,800000,1200000,1200000,1200000,1200000,1200000,1200000,1200000]}])"));
}

TEST_F(RunFactsTest, AnInterruptionLastsUntilTheNextOrTheEnd) {
    facts.interrupted(at(2'000'000), "locked", "");
    facts.interrupted(at(2'500'000), "locked", "");  // still
    facts.interrupted(at(3'000'000), "suspended", "");
    facts.resumed(at(4'000'000));
    facts.resumed(at(5'000'000));
    facts.happened(at(6'000'000), "keyboard-lost", "");
    facts.interrupted(at(7'000'000), "other", "held by make");
    EXPECT_EQ(document()["interruptions"], json::parse(R"([
        {"t_us":2000000,"until_us":3000000,"reason":"locked"},
        {"t_us":3000000,"until_us":4000000,"reason":"suspended"},
        {"t_us":6000000,"reason":"keyboard-lost"},
        {"t_us":7000000,"reason":"other","detail":"held by make"}])"));
}

TEST_F(RunFactsTest, TroubleThatComesAgainAndAgainIsToldOnce) {
    facts.happened(at(500'000), "other", "the disk is full");  // before the first turn
    facts.happened(at(2'000'000), "other", "the disk is full");
    EXPECT_EQ(document()["interruptions"],
              json::parse(R"([{"t_us":1000000,"reason":"other","detail":"the disk is full"}])"));
}

TEST_F(RunFactsTest, ThereAreNoMoreInterruptionsThanARecordHolds) {
    for (int i = 0; i < 1100; ++i) {
        facts.interrupted(at(2'000'000 + i), "other", std::to_string(i));
    }
    facts.resumed(at(8'000'000));
    EXPECT_EQ(document()["interruptions"].size(), RunFacts::kMostInterruptions);
}

TEST_F(RunFactsTest, TheMachineIsToldInShortPlainTexts) {
    facts.runs_on({.cpu = std::string(500, 'c'),
                   .backend = "setspeed",
                   .governor = "onde\nmand\xff",
                   .tunables = {{"up_threshold", "80"}, {"Bad name", "1"}, {std::string(65, 'a'), "1"}},
                   .kernel = "6.1.0"});
    EXPECT_TRUE(facts.knows_machine());
    const json seen = document()["machine"];
    EXPECT_LE(seen["cpu"].get<std::string>().size(), 200U);
    EXPECT_EQ(seen["driver"], "unknown");
    EXPECT_EQ(seen["backend"], "setspeed");
    EXPECT_EQ(seen["governor"], "onde\\x0amand\\xff");
    EXPECT_EQ(seen["tunables"], json({{"up_threshold", "80"}}));
}

}  // namespace
}  // namespace happe
