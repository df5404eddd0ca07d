// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cli/description.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

// A program with one option, argument or command of each kind.
struct Program {
    Program() {
        app.footer("It has examples.\n\nExit status: 0 done, 1 not.\n\nExamples:\n  prog run a\n  .hidden");
        app.add_flag("-v,--verbose", verbose, "Say more");
        app.add_option("--secret", text)->group("");
        CLI::App* const run = app.add_subcommand("run", "Run a thing");
        run->add_option("--level", number, "How much")->check(CLI::Range(1, 9))->capture_default_str();
        run->add_option("--as", text, "A word")->check(CLI::IsMember({"one", "two"}));
        run->add_option("--map", number, "Another")
            ->transform(CLI::CheckedTransformer(std::map<std::string, int>{{"low", 0}, {"high", 1}}));
        run->add_option("THING", text, "What")->required()->type_name("FILE");
        run->add_option("REST", texts, "More of it");
        app.add_subcommand("hidden", "Not shown")->group("");
        CLI::App* const list = app.add_subcommand("list", "Things")->require_subcommand(1);
        list->add_subcommand("all", "Every one");
    }

    CLI::App app{"prog - Does a thing.\n\nAnd another, 'with' \\quotes\\.", "prog"};
    bool verbose = false;
    int number = 3;
    std::string text;
    std::vector<std::string> texts;
};

using Json = nlohmann::json;

// The program's description of itself.
Json told(CLI::App& app) {
    add_description(app, {.section = 8, .version = "1.2", .more = "See also: other(1)"});
    try {
        app.parse("--describe");
    } catch (const CLI::Success& printed) {
        return Json::parse(printed.what());
    }
    ADD_FAILURE() << "nothing is printed";
    return {};
}

// The option of a name, or the command of a path; null if there is none.
Json named(const Json& listed, const std::string& name) {
    for (const Json& each : listed) {
        const Json names = each.value("names", Json::array());
        if (each.value("path", "") == name || std::find(names.begin(), names.end(), name) != names.end()) {
            return each;
        }
    }
    return {};
}

TEST(Description, SaysWhatThePageIsAndWhatTheProgramIs) {
    Program program;
    const Json said = told(program.app);
    EXPECT_EQ(said["section"], 8);
    EXPECT_EQ(said["version"], "1.2");
    EXPECT_EQ(said["more"], "See also: other(1)");
    EXPECT_EQ(said["command"]["path"], "prog");
    EXPECT_EQ(said["command"]["description"], "prog - Does a thing.\n\nAnd another, 'with' \\quotes\\.");
    EXPECT_TRUE(said["command"]["footer"].get<std::string>().starts_with("It has examples."));
}

TEST(Description, SaysWhatAnOptionTakes) {
    Program program;
    const Json command = told(program.app)["command"];
    const Json run = named(command["commands"], "prog run");
    EXPECT_EQ(named(command["options"], "--verbose")["names"], Json({"-v", "--verbose"}));
    EXPECT_EQ(named(command["options"], "--verbose")["value"], "");
    EXPECT_EQ(named(run["options"], "--level"), Json({{"names", {"--level"}},
                                                      {"value", "N"},
                                                      {"description", "How much"},
                                                      {"choices", Json::array()},
                                                      {"limits", "1 to 9"},
                                                      {"default", "3"},
                                                      {"required", false},
                                                      {"repeated", false},
                                                      {"takes", ""}}));
    EXPECT_EQ(named(run["options"], "--as")["choices"], Json({"one", "two"}));
    EXPECT_EQ(named(run["options"], "--map")["choices"], Json({"high", "low"}));
}

TEST(Description, SaysWhatArgumentsThereAre) {
    Program program;
    const Json run = named(told(program.app)["command"]["commands"], "prog run");
    ASSERT_EQ(run["arguments"].size(), 2);
    EXPECT_EQ(run["arguments"][0]["value"], "THING");
    EXPECT_EQ(run["arguments"][0]["takes"], "file");
    EXPECT_TRUE(run["arguments"][0]["required"]);
    EXPECT_TRUE(run["arguments"][1]["repeated"]);
}

TEST(Description, HasEveryCommandAndNothingHidden) {
    Program program;
    const Json command = told(program.app)["command"];
    EXPECT_TRUE(command["runs"]);
    EXPECT_EQ(command["commands"].size(), 2);
    const Json list = named(command["commands"], "prog list");
    EXPECT_FALSE(list["runs"]);
    EXPECT_EQ(list["commands"][0]["path"], "prog list all");
    EXPECT_EQ(list["footer"], "");  // and not the program's footer again
    EXPECT_TRUE(named(command["options"], "--secret").is_null());
    EXPECT_TRUE(named(command["options"], "--describe").is_null());
}

TEST(Description, IsPrintedThoughACommandIsRequired) {
    Program program;
    program.app.require_subcommand(1);
    EXPECT_EQ(told(program.app)["command"]["runs"], false);
    EXPECT_EQ(program.app.help().find("--describe"), std::string::npos);
}

}  // namespace
}  // namespace happe
