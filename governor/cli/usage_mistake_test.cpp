// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cli/usage_mistake.h"

#include <gtest/gtest.h>

namespace happe {
namespace {

// The message of a program about a command line.
std::string said(std::vector<std::string> words) {
    CLI::App app("prog - Does a thing.", "prog");
    app.require_subcommand(1);
    app.add_option("--secret")->group("");
    app.add_subcommand("hidden")->group("");
    CLI::App* const status = app.add_subcommand("status");
    status->add_flag("--json");
    CLI::App* const play = app.add_subcommand("play");
    play->add_option("TRACE")->required();
    play->add_option_group("Output")->add_option("-o,--out");
    play->add_option("--key")->check([](const std::string&) { return "unknown key; did you mean 'faster'?"; });
    app.add_subcommand("keys")->require_subcommand(1)->add_subcommand("learn");
    std::ranges::reverse(words);
    try {
        app.parse(words);
        return "nothing";
    } catch (const CLI::ParseError& error) {
        return usage_mistake(app, error);
    }
}

TEST(UsageMistake, NamesAnUnknownCommandAndTheNearest) {
    EXPECT_EQ(said({"statsu"}), "unknown command 'statsu'; did you mean 'status'?");
    EXPECT_EQ(said({"statsu", "--json"}), "unknown command 'statsu'; did you mean 'status'?");
    EXPECT_EQ(said({"keys", "lern"}), "unknown command 'lern'; did you mean 'learn'?");
    EXPECT_EQ(said({"keys", "forget"}), "unknown command 'forget'; try `prog keys --help`");
    EXPECT_EQ(said({"hiden"}), "unknown command 'hiden'; try `prog --help`");
}

TEST(UsageMistake, NamesAnUnknownOptionAndTheNearest) {
    EXPECT_EQ(said({"status", "--jsno"}), "unknown option '--jsno'; did you mean '--json'?");
    EXPECT_EQ(said({"--hepl"}), "unknown option '--hepl'; did you mean '--help'?");
    EXPECT_EQ(said({"--secrt", "status"}), "unknown option '--secrt'; try `prog --help`");
    EXPECT_EQ(said({"status", "-x"}), "unknown option '-x'; try `prog status --help`");
    EXPECT_EQ(said({"play", "--otu=f"}), "unknown option '--otu'; did you mean '--out'?");  // TRACE is missing, too
}

TEST(UsageMistake, LeavesOtherMistakesToTheParser) {
    EXPECT_EQ(said({}), "A subcommand is required; try `prog --help`");
    EXPECT_EQ(said({"keys"}), "A subcommand is required; try `prog keys --help`");
    EXPECT_EQ(said({"play"}), "TRACE is required; try `prog play --help`");
    EXPECT_EQ(said({"play", "a", "--key", "fastr"}), "--key: unknown key; did you mean 'faster'?");
    EXPECT_EQ(said({"status", "-"}), "The following argument was not expected: -; try `prog status --help`");
    EXPECT_EQ(said({"status", "now"}), "The following argument was not expected: now; try `prog status --help`");
}

}  // namespace
}  // namespace happe
