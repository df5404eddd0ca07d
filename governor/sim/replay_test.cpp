// SPDX-License-Identifier: GPL-2.0-or-later
// Runs the hand-derived vectors of profiles/vectors through the loop.
#include "governor/sim/replay.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace happe {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kFewestVectors = 25;

// The cases of a file share its header, but for the members that a case has itself.
std::vector<nlohmann::json> vectors() {
    std::vector<nlohmann::json> cases;
    for (const auto& entry : fs::directory_iterator(HAPPE_SOURCE_DIR "/profiles/vectors")) {
        std::ifstream file(entry.path());
        const auto document = nlohmann::json::parse(file);
        for (auto vector : document["cases"]) {
            auto header = document["header"];
            header.update(vector.value("header", nlohmann::json::object()));
            vector["header"] = header;
            cases.push_back(vector);
        }
    }
    return cases;
}

std::string lines(const nlohmann::json& documents) {
    std::string text;
    for (const auto& document : documents) {
        text += document.dump() + "\n";
    }
    return text;
}

nlohmann::json parsed_lines(const std::string& text) {
    auto documents = nlohmann::json::array();
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        documents.push_back(nlohmann::json::parse(line));
    }
    return documents;
}

class Vector : public testing::TestWithParam<nlohmann::json> {};

TEST_P(Vector, is_decided_as_derived_by_hand) {
    const auto& vector = GetParam();
    std::istringstream trace(vector["header"].dump() + "\n" + lines(vector["observations"]));
    std::ostringstream decisions;

    const Status done = replay(trace, "vector", decisions);

    ASSERT_TRUE(done) << done.error().message;
    ASSERT_FALSE(vector["expected"].empty());
    const auto decided = parsed_lines(decisions.str());
    ASSERT_EQ(decided.size(), vector["expected"].size());
    for (std::size_t i = 0; i < decided.size(); ++i) {
        EXPECT_EQ(decided[i], vector["expected"][i]) << "observation " << i << ": " << vector["derivation"][i];
    }
}

INSTANTIATE_TEST_SUITE_P(Profiles, Vector, testing::ValuesIn(vectors()), [](const auto& vector) {
    std::string name = vector.param["name"];
    std::ranges::replace(name, '-', '_');
    return name;
});

TEST(Vectors, are_at_least_twenty_five) {
    EXPECT_GE(vectors().size(), kFewestVectors);
}

TEST(Replay, keeps_what_it_decided_before_a_bad_line_and_names_the_field) {
    std::istringstream trace(
        R"({"format":"happe-trace/1","mode":"paper","feedback":"next-sample","period_us":1000000,"ladders_khz":{"0":[1]}})"
        "\n"
        R"({"t_us":1,"user":null,"app":null,"policies":[]})"
        "\n"
        R"({"t_us":2,"user":"u","app":"a","policies":[{"id":0,"util_ppm":[5,1000001]}]})");
    std::ostringstream decisions;
    const Status done = replay(trace, "name", decisions);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "name:3: policies[0].util_ppm[1]: must be 0 to 1000000, is 1000001");
    EXPECT_EQ(decisions.str(), "{\"t_us\":1,\"released\":true}\n");
}

}  // namespace
}  // namespace happe
