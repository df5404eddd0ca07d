// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/study.h"

#include "governor/sim/replay.h"
#include "governor/sim/study_tables.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace happe {
namespace {

StudyPlan small(StudyPlan plan, std::size_t count = 3) {
    plan.count = count;
    plan.run_time = std::chrono::seconds(60);
    return plan;
}

TEST(Condition, has_a_name_that_leads_back_to_it) {
    for (const std::string& name : Condition::names()) {
        EXPECT_EQ(Condition::named(name)->name(), name);
    }
    EXPECT_FALSE(Condition::named("fixed-6"));
    EXPECT_FALSE(Condition::named("fixed-0"));
    EXPECT_FALSE(Condition::named(""));
}

TEST(Study, makes_every_run_once_in_the_papers_order) {
    const StudyPlan plan = small(paper_plan(), 2);
    int done = 0;
    const auto runs = run_study(plan, 1, {.run_done = [&done] { ++done; }, .trace = {}, .turned = {}, .drew = {}});
    ASSERT_EQ(runs.size(), 2U * 4U * 5U);
    EXPECT_EQ(done, 40);
    EXPECT_EQ(runs[0].condition.name(), "ondemand");
    EXPECT_EQ(runs[1].condition.name(), "T-HAPPE");
    EXPECT_EQ(runs[4].condition.name(), "oracle");
    for (const RunResult& run : runs) {
        EXPECT_EQ(run.uafp.has_value(), run.condition.is_happe());
        EXPECT_GE(run.rating, 1);
        EXPECT_LE(run.rating, 5);
        double seconds = 0.0;
        for (const double state : run.state_seconds) {
            seconds += state;
        }
        EXPECT_NEAR(seconds, 60.0, 1e-9);
    }
}

TEST(Study, of_section_a3_gives_each_level_once_in_random_order) {
    const StudyPlan plan = small(a3_plan(), 4);
    const auto runs = run_study(plan, 1, {});
    ASSERT_EQ(runs.size(), 4U * 4U * 5U);
    bool shuffled = false;
    for (std::size_t first = 0; first < runs.size(); first += 5) {
        std::vector<std::size_t> levels;
        for (std::size_t i = 0; i < 5; ++i) {
            const RunResult& run = runs[first + i];
            levels.push_back(run.condition.level);
            EXPECT_NEAR(run.state_seconds.at(run.condition.level - 1), 60.0, 1e-9);
        }
        shuffled = shuffled || !std::ranges::is_sorted(levels);
        std::ranges::sort(levels);
        EXPECT_EQ(levels, (std::vector<std::size_t>{1, 2, 3, 4, 5}));
    }
    EXPECT_TRUE(shuffled);
}

TEST(Study, draws_a_run_from_its_labels_alone) {
    StudyPlan all = small(paper_plan());
    StudyPlan one = all;
    std::erase_if(one.participants.applications, [](const auto& application) { return application.name != "glest"; });
    const auto among_all = run_study(all, 5, {});
    const auto alone = run_study(one, 5, {});
    for (const RunResult& run : alone) {
        const auto same = std::ranges::find_if(among_all, [&](const RunResult& other) {
            return other.participant == run.participant && other.condition == run.condition &&
                   all.participants.applications[other.application].name == "glest";
        });
        ASSERT_NE(same, among_all.end());
        EXPECT_EQ(same->watts, run.watts);
        EXPECT_EQ(same->rating, run.rating);
    }
}

// A replay of every HAPPE run's trace makes the run's decisions: the next observation has the frequency that each
// decision set.
TEST(Study, traces_replay_to_the_frequencies_that_were_run) {
    const StudyPlan plan = small(paper_plan(), 2);
    std::map<std::pair<std::size_t, std::string>, std::string> traces;
    run_study(plan, 2,
              {.run_done = {},
               .trace =
                   [&](const RunResult& run, const std::string& line) {
                       if (run.condition.is_happe()) {
                           traces[{run.participant * 100 + run.application, run.condition.name()}] += line;
                       }
                   },
               .turned = {},
               .drew = {}});
    ASSERT_EQ(traces.size(), 2U * 4U * 3U);
    int changes = 0;
    for (const auto& [which, text] : traces) {
        std::istringstream trace(text);
        std::ostringstream decided;
        const Status done = replay(trace, "trace", decided);
        ASSERT_TRUE(done) << done.error().message;
        std::istringstream observations(text);
        std::istringstream decisions(decided.str());
        std::string observation;
        std::string decision;
        std::getline(observations, observation);
        std::uint32_t expected = 0;
        while (std::getline(observations, observation) && std::getline(decisions, decision)) {
            const auto seen = nlohmann::json::parse(observation);
            const std::uint32_t ran = seen["policies"][0]["cur_khz"];
            EXPECT_TRUE(expected == 0 || ran == expected) << observation;
            expected = ran;
            const auto decided_now = nlohmann::json::parse(decision);
            for (const auto& target : decided_now["targets"]) {
                expected = target["khz"];
                ++changes;
            }
        }
    }
    EXPECT_GT(changes, 0);
}

// A crossover study has ondemand twice: with and without the indicator.
TEST(Cohort, plays_a_run_otherwise_the_second_time) {
    const StudyPlan plan = small(paper_plan(), 1);
    Cohort cohort(plan, 4);
    const Play what{.participant = 0, .application = 0, .condition = plan.conditions.front(), .user = "a", .began = {}};
    const double first = cohort.play(what, {}).watts;
    EXPECT_EQ(first, run_study(plan, 4, {}).front().watts);
    EXPECT_NE(cohort.play(what, {}).watts, first);
}

TEST(Tables, give_means_and_sample_standard_deviations_and_savings) {
    StudyPlan plan = small(paper_plan());
    plan.participants.applications.resize(1);
    plan.conditions = {{Rule::Ondemand, 0}, {Rule::OHappe, 0}, {Rule::Oracle, 0}};
    std::vector<RunResult> runs;
    const auto add = [&](Rule rule, double watts, int rating) {
        RunResult& run = runs.emplace_back();
        run.condition = {rule, 0};
        run.watts = watts;
        run.rating = rating;
    };
    add(Rule::Ondemand, 40, 4);
    add(Rule::Ondemand, 44, 5);
    add(Rule::OHappe, 30, 5);
    add(Rule::OHappe, 33, 5);
    add(Rule::Oracle, 28, 5);
    const StudyTables tables = happe::tables(plan, {runs});
    const Cell& ondemand = tables.cells[0];
    const Cell& happe = tables.cells[1];
    EXPECT_DOUBLE_EQ(ondemand.watts_mean.ours, 42.0);
    EXPECT_DOUBLE_EQ(ondemand.watts_sd.ours, std::sqrt(8.0));
    EXPECT_DOUBLE_EQ(ondemand.rating_mean.ours, 4.5);
    EXPECT_DOUBLE_EQ(*happe.saving_percent, 25.0);
    EXPECT_DOUBLE_EQ(*happe.oracle_share_percent, 75.0);
    EXPECT_DOUBLE_EQ(*happe.watts_mean.paper, 32.72);
    EXPECT_NEAR(happe.watts_mean.difference(), 31.5 - 32.72, 1e-12);
    EXPECT_NEAR(happe.watts_mean.strain(), (32.72 - 31.5) / 1.5, 1e-12);
}

}  // namespace
}  // namespace happe
