// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/json_document.h"
#include "governor/sim/commands/commands.h"
#include "governor/sim/study.h"

#include <fmt/format.h>
#include <sysexits.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestUser = 200;
constexpr std::int64_t kLatestMicros = 1'000'000'000'000'000;

struct PlayOptions {
    std::size_t participants = 24;
    std::uint32_t seed = 1;
};

constexpr std::array kTexts{"application", "condition", "user"};
constexpr std::array kNumbers{"participant", "started_us"};

// Checks that exactly these fields exist, with the right types.
Status has_its_shape(const Json& said) {
    if (!said.is_object()) {
        return failure("is no JSON object");
    }
    for (const char* name : kTexts) {
        if (!said.contains(name) || !said[name].is_string()) {
            return failure(fmt::format("{}: must be a text", name));
        }
    }
    for (const char* name : kNumbers) {
        if (!said.contains(name) || !said[name].is_number_unsigned()) {
            return failure(fmt::format("{}: must be a whole number", name));
        }
    }
    return said.size() == kTexts.size() + kNumbers.size() ? Status() : failure("has an unknown field");
}

// Reads the run that a line of input asks for. The error names the wrong field.
Result<Play> play_of(const std::string& line, const StudyPlan& plan) {
    const Json said = Json::parse(line, nullptr, false);
    if (const Status shape = has_its_shape(said); !shape) {
        return tl::unexpected<Error>(shape.error());
    }
    const auto& applications = plan.participants.applications;
    const auto application =
        std::ranges::find(applications, said["application"].get<std::string>(), &sim::ApplicationParameters::name);
    const auto condition = Condition::named(said["condition"].get<std::string>());
    const auto participant = said["participant"].get<std::uint64_t>();
    const auto started = said["started_us"].get<std::uint64_t>();
    const auto user = said["user"].get<std::string>();
    if (application == applications.end() || !condition) {
        return failure(fmt::format("{}: unknown", condition ? "application" : "condition"));
    }
    if (participant < 1 || participant > plan.count) {
        return failure(fmt::format("participant: must be 1 to {}", plan.count));
    }
    if (user.empty() || user.size() > kLongestUser || started > kLatestMicros) {
        return failure(started > kLatestMicros ? "started_us: is too late" : "user: is empty or too long");
    }
    return Play{.participant = participant - 1,
                .application = static_cast<std::size_t>(application - applications.begin()),
                .condition = *condition,
                .user = user,
                .began = MonoTime(Micros(started))};
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
        const Json before = header_["uafp"].empty() ? Json() : header_["uafp"][0]["khz"];
        return {{"header", header_},        {"observations", observations_},
                {"profile_before", before}, {"profile_after", learned_.empty() ? before : after_},
                {"learned", learned_},      {"rating", run.rating},
                {"mean_w", run.watts},      {"step_us", kStudyStep.count()},
                {"milliwatts", milliwatts_}};
    }

private:
    void learn(const Turn& turn) {
        if (turn.decision.lesson) {
            learned_.push_back(lesson_json(turn.at, *turn.decision.lesson));
            after_ = numbers(turn.uafp->values());
        }
    }

    Json header_;
    Json observations_ = Json::array();
    Json learned_ = Json::array();
    Json after_;
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
