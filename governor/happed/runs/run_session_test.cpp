// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/runs/run_session.h"

#include "governor/system/temporary_directory_fixture.h"
#include "tests/disk.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace happe {
namespace {

using nlohmann::json;
using Rule = RunCondition::Rule;
using Sight = RunSession::Sight;

MonoTime at(std::int64_t micros) {
    return MonoTime(Micros(micros));
}

RunPlan plan_of(const std::string& condition) {
    return {.condition = condition, .subject = "P01", .application = "torcs", .indicator = condition == "B-HAPPE"};
}

TEST(ConditionOf, KnowsThePapersConditions) {
    EXPECT_EQ(condition_of(plan_of("ondemand"), 5).value(), RunCondition{Rule::Ondemand});
    EXPECT_EQ(condition_of(plan_of("T-HAPPE"), 5).value(), RunCondition{Rule::Training});
    EXPECT_EQ(condition_of(plan_of("O-HAPPE"), 5).value(), RunCondition{Rule::Operating});
    EXPECT_EQ(condition_of(plan_of("B-HAPPE"), 5).value(), RunCondition{Rule::Operating});
    EXPECT_EQ(condition_of(plan_of("L-HAPPE"), 5).value(), (RunCondition{.rule = Rule::Operating, .extended = true}));
    EXPECT_EQ(condition_of(plan_of("fixed-1"), 5).value(), (RunCondition{Rule::Fixed, 0}));
    EXPECT_EQ(condition_of(plan_of("fixed-5"), 5).value(), (RunCondition{Rule::Fixed, 4}));
}

TEST(ConditionOf, RefusesWhatTheMachineDoesNotHave) {
    for (const char* name : {"", "Ondemand", "HAPPE", "fixed-", "fixed-0", "fixed-6", "fixed--1", "fixed-1 ",
                             "fixed-1x", "fixed-99999999999999999999", "o-happe"}) {
        const auto condition = condition_of(plan_of(name), 5);
        ASSERT_FALSE(condition) << name;
        EXPECT_NE(condition.error().message.find("fixed-5"), std::string::npos);
    }
}

TEST(ConditionOf, NamesTheMemberOfAPlanThatIsWrong) {
    const auto fault = [](RunPlan plan, auto member, auto value) {
        plan.*member = value;
        return condition_of(plan, 5).error().message;
    };
    const std::string most(240, 's');
    EXPECT_EQ(fault(plan_of("ondemand"), &RunPlan::subject, most + "s"), "subject: not 1 to 240 bytes");
    for (const char* name : {"desktop", "torcs/mains", "a\nb"}) {
        EXPECT_EQ(fault(plan_of("O-HAPPE"), &RunPlan::application, name),
                  "application: not a name that an application can have");
    }
    EXPECT_EQ(fault(plan_of("B-HAPPE"), &RunPlan::indicator, false), "indicator: B-HAPPE has it");
    EXPECT_EQ(fault(plan_of("ondemand"), &RunPlan::up_threshold, 101U), "up_threshold: not 1 to 100");
    EXPECT_EQ(fault(plan_of("fixed-1"), &RunPlan::sampling_rate_us, 1U),
              "sampling_rate_us, up_threshold: only ondemand has them");
    RunPlan longest = plan_of("ondemand");
    longest.subject = most;
    longest.up_threshold = 100;
    EXPECT_TRUE(condition_of(longest, 5));
}

struct RunSessionTest : testing::Test {
    TemporaryDirectory directory;
    RunTraces traces{directory.path()};
    const Uafp profile{Khz{1'600'000}};
    const Served subject{"subject:P01", "torcs"};
    std::vector<Policy> machine{{PolicyId{0}, {0, 1}, t61_ladder()}};

    std::unique_ptr<RunSession> begin(const RunPlan& plan, Sight sight = Sight::Blind) {
        return begin(plan, {{.whom = subject, .profile = profile, .patience = {.wait = std::chrono::seconds{600}}}},
                     sight);
    }
    std::unique_ptr<RunSession> begin(const RunPlan& plan, std::vector<RunSession::Known> known,
                                      Sight sight = Sight::Blind) {
        return *RunSession::begin(traces,
                                  {.owner = {.bus_name = ":1.5", .uid = 1000},
                                   .plan = plan,
                                   .condition = *condition_of(plan, 5),
                                   .sight = sight},
                                  machine, std::move(known), at(1'000'000));
    }
    [[nodiscard]] Status turn(RunSession& run, std::int64_t micros) const {
        return run.turned(
            {.at = at(micros), .served = &subject, .decision = Decision(), .before = &profile, .uafp = &profile});
    }
    [[nodiscard]] std::vector<json> trace_of(const std::string& code) const {
        std::vector<json> lines;
        std::istringstream text(text_of(directory.path() / (code + ".jsonl")));
        for (std::string line; std::getline(text, line);) {
            lines.push_back(json::parse(line));
        }
        return lines;
    }
};

TEST_F(RunSessionTest, LeavesATraceOfItsTurnsAndItsFactsOnTheDisk) {
    const Disk disk(directory.path());
    const auto run = begin(plan_of("O-HAPPE"));
    EXPECT_EQ(traces.kept(run->code())->facts, "") << "while it is on";
    ASSERT_TRUE(turn(*run, 2'000'000));
    run->facts().happened(at(2'500'000), "keyboard-lost", "");
    ASSERT_TRUE(turn(*run, 3'000'000));
    ASSERT_TRUE(run->end(at(3'500'000)));
    EXPECT_EQ(disk.lost(), std::vector<std::string>());

    const auto lines = trace_of(run->code());
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0]["format"], "happe-trace/1");
    EXPECT_EQ(lines[0]["uafp"][0]["user"], "subject:P01");
    EXPECT_EQ(lines[2]["t_us"], 3'000'000);
    const KeptRun kept = *traces.kept(run->code());
    EXPECT_EQ(kept.uid, 1000U);
    const json facts = json::parse(kept.facts);
    EXPECT_EQ(facts["ended_us"], 3'500'000);
    EXPECT_EQ(facts["profile_before"][0], 1'600'000);
    EXPECT_EQ(facts["interruptions"][0]["reason"], "keyboard-lost");
}

TEST_F(RunSessionTest, HasOneDomainOfAllPoliciesInItsTrace) {
    EXPECT_FALSE(trace_of(begin(plan_of("O-HAPPE"))->code())[0].contains("domains"))
        << "of one policy there is no other";
    machine.push_back({PolicyId{4}, {4}, t61_ladder()});
    const auto run = begin(plan_of("O-HAPPE"));
    EXPECT_EQ(trace_of(run->code())[0]["domains"], json::array({{0, 4}}));
    EXPECT_EQ(run->settings().domains, (Domains{{PolicyId{0}, PolicyId{4}}}));
}

TEST_F(RunSessionTest, OfAKernelConditionHasNoProfileInItsTraceAndNoShamKeys) {
    RunPlan plan = plan_of("ondemand");
    plan.sham = true;
    const auto run = begin(plan);
    EXPECT_FALSE(run->settings().sham);
    EXPECT_EQ(trace_of(run->code())[0]["uafp"], json::array());

    plan.condition = "O-HAPPE";
    const auto sham = begin(plan);
    EXPECT_TRUE(sham->settings().sham);
    EXPECT_EQ(trace_of(sham->code())[0]["keys"], "sham");
}

TEST_F(RunSessionTest, InModeExtendedSaysSoAndWithWhatPatienceItBegins) {
    const auto run = begin(plan_of("L-HAPPE"));
    Settings settings = kExtended;
    settings.silent_top = false;
    EXPECT_EQ(run->settings().algorithm, settings) << "every press is a lesson";
    const json header = trace_of(run->code())[0];
    EXPECT_EQ(header["mode"], "extended");
    EXPECT_EQ(header["patience"][0]["wait_us"], 600'000'000);
    EXPECT_EQ(header["uafp"][0]["khz"][0], 1'600'000);
    MemoryProfiles store;
    EXPECT_EQ(&run->profiles(store), &store);
    EXPECT_FALSE(trace_of(begin(plan_of("O-HAPPE"))->code())[0].contains("settings")) << "the paper's";
}

TEST_F(RunSessionTest, OfEveryApplicationBeginsWithAllProfilesOfTheSubjectAndHasNoneInItsFacts) {
    RunPlan plan = plan_of("L-HAPPE");
    plan.application = "";
    const Served mail{"subject:P01", "mail"};
    const auto run = begin(plan, {{.whom = mail, .profile = Uafp(Khz{800'000}), .patience = {}},
                                  {.whom = subject, .profile = profile, .patience = {}}});
    const Lesson lesson{};
    ASSERT_TRUE(run->turned({.at = at(2'000'000),
                             .served = &subject,
                             .decision = {.lesson = lesson},
                             .before = &profile,
                             .uafp = &profile}));
    ASSERT_TRUE(run->end(at(3'000'000)));
    const json header = trace_of(run->code())[0];
    EXPECT_EQ(header["uafp"][0]["app"], "mail");
    EXPECT_EQ(header["uafp"][1]["app"], "torcs");
    EXPECT_EQ(header["patience"].size(), 2U);
    const json facts = json::parse(traces.kept(run->code())->facts);
    EXPECT_EQ(facts["learned"].size(), 1U);
    EXPECT_TRUE(facts["profile_before"].is_null());
    EXPECT_TRUE(facts["profile_after"].is_null());
    EXPECT_EQ(facts["every_application"], true);
}

TEST_F(RunSessionTest, OfARaisedProfileBeginsAStepHigherAndLeavesTheStoreAlone) {
    RunPlan plan = plan_of("O-HAPPE");
    plan.raised = true;
    const auto run = begin(plan);
    MemoryProfiles store;
    EXPECT_EQ(run->profiles(store).find(subject).value(), Uafp(Khz{2'200'000}));
    EXPECT_EQ(trace_of(run->code())[0]["uafp"][0]["khz"], json(std::vector<int>(10, 2'200'000)));
    EXPECT_TRUE(store.profiles.empty());

    plan.condition = "L-HAPPE";
    const auto extended = begin(plan);
    EXPECT_EQ(extended->profiles(store).patience(subject), kRaisedPatience);
    EXPECT_EQ(trace_of(extended->code())[0]["patience"][0]["wait_us"], 130'000'000);
    ASSERT_TRUE(extended->end(at(2'000'000)));
    const json facts = json::parse(traces.kept(extended->code())->facts);
    EXPECT_EQ(facts["raised"], true);
    EXPECT_FALSE(facts.contains("every_application"));
}

TEST_F(RunSessionTest, IsKeptAsBlindUnlessEverybodyMaySee) {
    for (const auto& [sight, blind] : {std::pair{Sight::Open, false}, {Sight::Blind, true}, {Sight::Sealed, true}}) {
        const auto run = begin(plan_of("O-HAPPE"), sight);
        EXPECT_EQ(run->blind(), blind);
        EXPECT_EQ(traces.kept(run->code())->blind, blind);
    }
}

TEST_F(RunSessionTest, WhoseTraceCannotBeWrittenSaysSoOnceAndAtItsEnd) {
    const auto run = begin(plan_of("O-HAPPE"));
    const std::size_t lines = trace_of(run->code()).size();
    {
        Disk full(directory.path());
        full.full_at(0);
        EXPECT_FALSE(turn(*run, 2'000'000));
        EXPECT_TRUE(turn(*run, 3'000'000)) << "told once";
    }
    EXPECT_TRUE(turn(*run, 4'000'000)) << "a trace has no gaps";
    EXPECT_EQ(trace_of(run->code()).size(), lines);
    EXPECT_FALSE(run->end(at(5'000'000)));
    EXPECT_FALSE(traces.kept(run->code())->facts.empty());
}

}  // namespace
}  // namespace happe
