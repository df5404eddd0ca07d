// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/run_record.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace happe::study {
namespace {

const Recording kRecording{
    .trace = "{\"format\":\"happe-trace/1\"}\n{\"t_us\":9007199254740993}\n{\"t_us\":9007199255740993}\n",
    .facts = R"({"clock":"monotonic:x","started_us":9007199253740993,"ended_us":9007199255740993,)"
             R"("software":{"happed":"0.1.0"}})"};

TEST(RunRecord, HasWhatHappedKeptAndWhatWasSaid) {
    const auto text = compose_record("7ZK3M9QA", "id", kRecording, {.rating = 4, .notes = {"begun again"}});
    ASSERT_TRUE(text);
    const auto record = nlohmann::json::parse(*text);
    EXPECT_EQ(record["run"], "7ZK3M9QA");
    EXPECT_EQ(record["header"]["format"], "happe-trace/1");
    EXPECT_EQ(record["observations"].size(), 2U);
    EXPECT_EQ(record["observations"][0]["t_us"], 9007199254740993) << "no digit is lost";
    EXPECT_EQ(record["rating"], 4);
    EXPECT_EQ(record["notes"], nlohmann::json({"begun again"}));
    EXPECT_EQ(record["software"].size(), 2U);
    EXPECT_EQ(lasted_us(kRecording), 2'000'000);
}

TEST(RunRecord, IsPaddedSoThatItsSizeTellsNothing) {
    const auto text = compose_record("7ZK3M9QA", "id", kRecording, {});
    ASSERT_TRUE(text);
    EXPECT_EQ(text->size(), 65536U);
    EXPECT_FALSE(nlohmann::json::parse(*text).contains("rating"));
    EXPECT_FALSE(nlohmann::json::parse(*text).contains("notes"));
}

TEST(RunRecord, HasNoMoreNotesThanItMay) {
    const auto text =
        compose_record("7ZK3M9QA", "id", kRecording, {.rating = {}, .notes = std::vector<std::string>(60, "x")});
    EXPECT_EQ(nlohmann::json::parse(*text)["notes"].size(), 50U);
}

TEST(RunRecord, OfWhatCannotBeReadThereIsNone) {
    EXPECT_FALSE(compose_record("7ZK3M9QA", "id", {.trace = "{", .facts = kRecording.facts}, {}));
    EXPECT_FALSE(compose_record("7ZK3M9QA", "id", {.trace = kRecording.trace, .facts = "[]"}, {}));
    EXPECT_FALSE(lasted_us({.trace = "", .facts = "{}"}));
    EXPECT_FALSE(lasted_us({.trace = "", .facts = ""}));
}

}  // namespace
}  // namespace happe::study
