// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/sealed_condition.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

const Json kOndemand = {
    {"format", "happe-condition/1"}, {"study", "paper-a3"},     {"run", "7ZK3M9QA"}, {"subject", "4HT2XC0N"},
    {"application", "torcs"},        {"condition", "ondemand"}, {"indicator", true}, {"keys", "sham"},
    {"sampling_rate_us", 20000},     {"up_threshold", 80}};

// Changes the values of some fields; null removes a field.
Json changed(Json document, const Json& changes) {
    for (const auto& [name, value] : changes.items()) {
        if (value.is_null()) {
            document.erase(name);
        } else {
            document[name] = value;
        }
    }
    return document;
}

Json without_tunables(const Json& changes) {
    return changed(changed(kOndemand, {{"sampling_rate_us", nullptr}, {"up_threshold", nullptr}}), changes);
}

// Pads the document as the study server does.
std::string padded(Json document) {
    document["pad"] = "";
    const std::size_t missing = kSealedDocumentBytes - std::min(kSealedDocumentBytes, document.dump().size());
    document["pad"] = std::string(missing, '.');
    return document.dump();
}

TEST(SealedCondition, HoldsAllOfTheDocument) {
    const auto read = read_sealed_condition(padded(kOndemand));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, (SealedCondition{.study = "paper-a3",
                                      .run = "7ZK3M9QA",
                                      .plan = {.condition = "ondemand",
                                               .subject = "4HT2XC0N",
                                               .application = "torcs",
                                               .sampling_rate_us = 20000,
                                               .up_threshold = 80,
                                               .indicator = true,
                                               .sham = true}}));
}

TEST(SealedCondition, MayBeAnyOfTheConditions) {
    std::vector<Json> good{{{"condition", "T-HAPPE"}, {"keys", "act"}},
                           {{"condition", "O-HAPPE"}, {"keys", "act"}, {"indicator", false}},
                           {{"condition", "O-HAPPE"}, {"keys", "sham"}},
                           {{"condition", "B-HAPPE"}, {"keys", "act"}, {"indicator", true}},
                           {{"condition", "L-HAPPE"}, {"keys", "act"}},
                           {{"condition", "L-HAPPE"}, {"keys", "act"}, {"raised", true}},
                           {{"condition", "O-HAPPE"}, {"keys", "act"}, {"raised", true}},
                           {{"condition", "T-HAPPE"}, {"keys", "act"}, {"raised", false}},
                           {{"condition", "ondemand"}, {"sampling_rate_us", 10'000'000}, {"up_threshold", 1}}};
    for (int step = 1; step <= 64; ++step) {
        good.push_back({{"condition", "fixed-" + std::to_string(step)}});
    }
    for (const Json& changes : good) {
        const auto read = read_sealed_condition(padded(without_tunables(changes)));
        ASSERT_TRUE(read) << changes;
        EXPECT_EQ(read->plan.condition, changes["condition"].get<std::string>());
        EXPECT_EQ(read->plan.raised, changes.value("raised", false));
    }
}

TEST(SealedCondition, KeepsToTheSchemaAndSaysOneThingOfWhatDoesNot) {
    std::vector<Json> bad{
        {{"condition", "L-HAPPE"}, {"keys", "act"}, {"probe_seed", 1}},
        {{"condition", "L-HAPPE"}, {"keys", "act"}, {"raised", 1}},
        {{"condition", "T-HAPPE"}, {"keys", "act"}, {"raised", true}},
        {{"format", "happe-condition/2"}},
        {{"study", "Paper"}},
        {{"study", "3a"}},
        {{"study", std::string(41, 'a')}},
        {{"study", 3}},
        {{"run", "7ZK3M9Q"}},
        {{"run", "7ZK3M9QAA"}},
        {{"run", "7ZK3M9QU"}},
        {{"run", "7zk3m9qa"}},
        {{"subject", "4HT2XC0"}},
        {{"application", "Torcs"}},
        {{"condition", "conservative"}},
        {{"condition", "fixed-0"}},
        {{"condition", "fixed-01"}},
        {{"condition", "fixed-65"}},
        {{"condition", "fixed-100"}},
        {{"condition", "fixed-"}},
        {{"condition", "B-HAPPE"}, {"indicator", false}},
        {{"condition", "O-HAPPE"}, {"keys", "act"}, {"up_threshold", 80}},
        {{"condition", "T-HAPPE"}, {"keys", "act"}, {"sampling_rate_us", 1}},
        {{"condition", "fixed-1"}, {"keys", "act"}},
        {{"keys", "act"}},
        {{"keys", "both"}},
        {{"indicator", 1}},
        {{"sampling_rate_us", 0}},
        {{"sampling_rate_us", 10'000'001}},
        {{"sampling_rate_us", 1.5}},
        {{"sampling_rate_us", "1"}},
        {{"up_threshold", 0}},
        {{"up_threshold", 101}},
        {{"power", 80}},
    };
    for (const auto& [name, value] : kOndemand.items()) {
        if (name != "sampling_rate_us" && name != "up_threshold") {
            bad.push_back({{name, nullptr}});
        }
    }
    for (const Json& changes : bad) {
        const auto read = read_sealed_condition(padded(without_tunables(changes)));
        ASSERT_FALSE(read) << changes;
        EXPECT_EQ(read.error().message, "holds no document that this version knows");
    }
}

TEST(SealedCondition, HasOneLengthAndOneForm) {
    const std::string good = padded(kOndemand);
    ASSERT_EQ(good.size(), kSealedDocumentBytes);
    const auto instead = [&](const std::string& old, const std::string& with) {
        std::string text = good;
        return text.replace(text.find(old), old.size(), with);
    };
    const std::vector<std::string> bad{
        "",
        std::string(kSealedDocumentBytes, '.'),
        std::string(kSealedDocumentBytes, '['),
        good.substr(1),
        good + "\n",
        instead("...", ".."),
        instead("...", ". ."),
        instead("...", "x.."),
        instead("...", "\xC3\xA9."),
        instead(",\"", ", \"").erase(300, 1),                                             // not compact
        instead("\"torcs\"", "\"\\u0074orcs\"").erase(300, 5),                            // an escape
        instead("\"pad\":\"" + std::string(17, '.'), "\"run\":\"7ZK3M9QA\",\"pad\":\""),  // twice
    };
    for (const std::string& text : bad) {
        EXPECT_FALSE(read_sealed_condition(text)) << text;
    }
}

}  // namespace
}  // namespace happe
