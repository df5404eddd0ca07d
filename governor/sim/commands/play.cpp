// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/json_document.h"
#include "governor/sim/commands/commands.h"
#include "governor/sim/study.h"

#include <fmt/format.h>
#include <sysexits.h>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLatestMicros = 1'000'000'000'000'000;

struct PlayOptions {
    std::size_t participants = 24;
    std::uint32_t seed = 1;
};

// Reads the run that a line of input asks for. The error names the wrong field.
Result<Play> play_of(const std::string& line, const StudyPlan& plan) try {
    const auto parsed = json::parse(line);
    const json::Field asked(parsed, "");
    static_cast<void>(asked.object({"application", "condition", "user", "participant", "started_us"}));
    const auto& applications = plan.participants.applications;
    const auto application =
        std::ranges::find(applications, asked.at("application").name(), &sim::ApplicationParameters::name);
    if (application == applications.end()) {
        asked.at("application").refuse("unknown");
    }
    const auto condition = Condition::named(asked.at("condition").name());
    if (!condition) {
        asked.at("condition").refuse("unknown");
    }
    const auto participant = asked.at("participant").integer(1, static_cast<std::int64_t>(plan.count));
    return Play{.participant = static_cast<std::size_t>(participant) - 1,
                .application = static_cast<std::size_t>(application - applications.begin()),
                .condition = *condition,
                .user = asked.at("user").name(),
                .began = MonoTime(Micros(asked.at("started_us").integer(0, kLatestMicros)))};
} catch (const json::FieldError& error) {
    return failure(error.what());
}

// Collects a run's results: members of a run record (profiles/schema/run-record.schema.json), and the power, which no
// laptop knows.
class Account {
public:
    [[nodiscard]] StudyHooks hooks() {
        return {.run_done = {},
                .trace =
                    [this](const RunResult& /*which*/, const std::string& line) {
                        (header_.is_null() ? header_ : observations_.emplace_back()) = Json::parse(line);
                    },
                .turned = [this](const RunResult& /*which*/, const Turn& turn) { learn(turn); },
                .drew = [this](double watts) { milliwatts_.push_back(std::llround(watts * 1000)); }};
    }

    [[nodiscard]] Json document(const RunResult& run) const {
        return {
            {"header", header_},         {"observations", observations_},
            {"profile_before", before_}, {"profile_after", learned_.empty() ? before_ : learned_.back()["uafp_khz"]},
            {"learned", learned_},       {"rating", run.rating},
            {"mean_w", run.watts},       {"step_us", kStudyStep.count()},
            {"milliwatts", milliwatts_}};
    }

private:
    void learn(const Turn& turn) {
        if (before_.is_null() && turn.before != nullptr) {
            before_ = numbers(turn.before->values());
        }
        if (turn.decision.lesson) {
            learned_.push_back(lesson_json(turn.at, *turn.decision.lesson, *turn.uafp));
        }
    }

    Json header_;
    Json observations_ = Json::array();
    Json learned_ = Json::array();
    Json before_;
    Json milliwatts_ = Json::array();
};

Json people_of(const Cohort& cohort) {
    Json people = Json::array();
    for (const sim::Person& person : cohort.people()) {
        people.push_back({{"experience", sim::name(person.experience)}, {"major", sim::name(person.major)}});
    }
    return {{"people", people}};
}

int play(const PlayOptions& options) {
    StudyPlan plan = paper_plan();
    plan.count = options.participants;
    Cohort cohort(plan, options.seed);
    std::cout << people_of(cohort).dump() << '\n' << std::flush;
    std::size_t number = 0;
    for (std::string line; std::getline(std::cin, line);) {
        ++number;
        const auto what = play_of(line, plan);
        if (!what) {
            return complain({fmt::format("<stdin>:{}: {}", number, what.error().message)}, EX_DATAERR);
        }
        Account account;
        const RunResult run = cohort.play(*what, account.hooks());
        std::cout << account.document(run).dump() << '\n' << std::flush;
        if (!std::cout) {
            break;
        }
    }
    return flushed(EX_OK);
}

}  // namespace

void add_play(CLI::App& program, int& status) {
    CLI::App* const command =
        program.add_subcommand("play", "Play single runs of simulated participants, as standard input requests them");
    const auto options = std::make_shared<PlayOptions>();
    command->add_option("--participants", options->participants, "How many there are")
        ->check(CLI::Range(std::size_t{1}, kMostParticipants))
        ->capture_default_str();
    command->add_option("--seed", options->seed, "The seed of the participants")->capture_default_str();
    command->footer(
        "Prints the participants, then reads a run from each line and prints its results: trace, lessons, rating, and\n"
        "power in steps of 40 ms. A participant keeps the profiles from run to run, and plays otherwise when a run comes\n"
        "again. With the same seed the runs are those of happe-sim study.\n\n"
        "Example:\n"
        "  echo '{\"participant\":1,\"application\":\"torcs\",\"condition\":\"T-HAPPE\",\"user\":\"alice\",\"started_us\":0}' |\n"
        "      happe-sim play | tail -n 1 | jq .rating");
    command->callback([options, &status] { status = play(*options); });
}

}  // namespace happe
