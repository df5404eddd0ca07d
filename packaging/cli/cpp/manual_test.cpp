// SPDX-License-Identifier: GPL-2.0-or-later
#include "packaging/cli/cpp/manual.h"

#include "packaging/cli/cpp/self_description.h"

#include <gtest/gtest.h>

namespace happe {
namespace {

// A program with one of each.
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

std::string page(const About& about = {.section = 8, .version = "1.2", .more = "See also: other(1)"}) {
    return manual_page(command_tree(Program().app), about);
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(Troff, PrintsTextAsItIs) {
    EXPECT_EQ(troff("a-b 'c' \"d\" \\e `f` ^~"), R"(a\-b \(aqc\(aq \(dqd\(dq \(rse \(gaf\(ga \(ha\(ti)");
    EXPECT_EQ(troff("é€😀"), R"(\[u00E9]\[u20AC]\[u1F600])");
}

TEST(Troff, MakesAQuestionMarkOfWhatIsNotUtf8) {
    EXPECT_EQ(troff("a\x80"), "a?");
    EXPECT_EQ(troff("\xC3"), "?");
    EXPECT_EQ(troff("\xE2\x82"), "??");
    EXPECT_EQ(troff("\xC3("), "?");
}

TEST(ManualPage, ALineThatBeginsWithADotIsNoRequest) {
    ManualPage page("p", 1, "1");
    page.text(".so /etc/passwd\n  .so x");
    page.item("t", ".so y\n'so z");
    EXPECT_TRUE(
        page.written().ends_with("\n\\&.so /etc/passwd\n.RS 4\n.EX\n\\&.so x\n.EE\n.RE\n"
                                 ".TP\nt\n\\&.so y\n\\(aqso z\n"))
        << page.written();
}

TEST(ManualPage, ParagraphsAndExamplesAreKeptApart) {
    ManualPage page("p", 1, "1");
    page.text("one\nline\n\ntwo:\n  a\n  b\nthree\n\n  c\n\n  d");
    EXPECT_TRUE(
        page.written().ends_with("\none\nline\n.PP\ntwo:\n.RS 4\n.EX\na\nb\n.EE\n.RE\nthree\n"
                                 ".PP\n.RS 4\n.EX\nc\n.EE\n.RE\n.PP\n.RS 4\n.EX\nd\n.EE\n.RE\n"))
        << page.written();
}

TEST(ManualPage, HasNameSynopsisAndDescription) {
    EXPECT_TRUE(page().starts_with(
        ".TH \"PROG\" 8 \"\" \"HAPPE 1.2\"\n.SH \"NAME\"\nprog \\- Does a thing\n.SH \"SYNOPSIS\"\n"
        "\\fBprog\\fR\n.br\n\\fBprog run\\fR [\\fIOPTION\\fR ...] \\fITHING\\fR [\\fIREST\\fR ...]\n.br\n"
        "\\fBprog list all\\fR\n.br\n.SH \"DESCRIPTION\"\n"
        "And another, \\(aqwith\\(aq \\(rsquotes\\(rs.\n.PP\nIt has examples.\n.SH \"OPTIONS\"\n"))
        << page();
}

TEST(ManualPage, SaysWhatAnOptionTakes) {
    EXPECT_TRUE(holds(page(), ".TP\n\\fB\\-v\\fR, \\fB\\-\\-verbose\\fR\nSay more\n"));
    EXPECT_TRUE(holds(page(), ".TP\n\\fB\\-\\-level\\fR \\fIN\\fR\nHow much (1 to 9) [3]\n"));
    EXPECT_TRUE(holds(page(), ".TP\n\\fB\\-\\-as\\fR \\fBone|two\\fR\nA word\n"));
    EXPECT_TRUE(holds(page(), ".TP\n\\fB\\-\\-map\\fR \\fBhigh|low\\fR\nAnother\n"));
    EXPECT_TRUE(holds(page(), ".TP\n\\fITHING\\fR\nWhat\n"));
}

TEST(ManualPage, HasEveryCommandAndNothingHidden) {
    EXPECT_TRUE(holds(page(), ".SS \"prog run\"\nRun a thing\n"));
    EXPECT_TRUE(holds(page(), ".SS \"prog list all\"\nEvery one\n.SH"));  // and not the program's footer again
    EXPECT_FALSE(holds(page(), "hidden\\fR"));
    EXPECT_FALSE(holds(page(), "secret"));
}

TEST(ManualPage, ParagraphsOfTheFooterWithAHeadingAreSections) {
    EXPECT_TRUE(
        page().ends_with(".SH \"EXIT STATUS\"\n0 done, 1 not.\n.SH \"EXAMPLES\"\n"
                         ".RS 4\n.EX\nprog run a\n\\&.hidden\n.EE\n.RE\n.SH \"SEE ALSO\"\nother(1)\n"))
        << page();
}

TEST(ManualPage, AColonWithinAParagraphIsNoHeading) {
    Program program;
    program.app.footer("Time 12:30 and so on: text.\n\nSee happe-sim: it does.\nFiles: none");
    EXPECT_EQ(manual_page(command_tree(program.app), {}).find(".SH \"FILES\""), std::string::npos);
}

TEST(SelfDescription, IsPrintedThoughACommandIsRequired) {
    for (const std::string option : {"--manual", "--completion=bash", "--completion=zsh"}) {
        Program program;
        program.app.require_subcommand(1);
        add_self_description(program.app, {});
        std::vector<std::string> arguments{option};
        try {
            program.app.parse(arguments);
            ADD_FAILURE() << option;
        } catch (const CLI::Success& printed) {
            EXPECT_TRUE(holds(printed.what(), "prog")) << option;
        }
    }
}

TEST(SelfDescription, KnowsNoOtherShellAndIsNotInTheHelp) {
    Program program;
    add_self_description(program.app, {});
    EXPECT_THROW(program.app.parse("--completion=fish"), CLI::ValidationError);
    EXPECT_FALSE(holds(program.app.help(), "--manual"));
    EXPECT_FALSE(holds(program.app.help(), "--completion"));
}

}  // namespace
}  // namespace happe
