// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/sitting.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace happe::study {
namespace {

using Json = nlohmann::json;

constexpr int kMostPoints = 11;
constexpr std::array<std::pair<std::string_view, RunState>, 5> kStates{{{"planned", RunState::Planned},
                                                                        {"started", RunState::Started},
                                                                        {"rated", RunState::Rated},
                                                                        {"complete", RunState::Complete},
                                                                        {"aborted", RunState::Aborted}}};

RunState state_of(const std::string& name) {
    const auto* const found =
        std::ranges::find(kStates, std::string_view(name), &std::pair<std::string_view, RunState>::first);
    if (found == kStates.end()) {
        throw std::runtime_error("state: unknown");
    }
    return found->second;
}

Scale scale_of(const Json& told) {
    Scale scale{.question = told.at("question"),
                .lowest_label = told.at("lowest_label"),
                .highest_label = told.at("highest_label"),
                .lowest = told.at("lowest"),
                .highest = told.at("highest")};
    if (scale.highest <= scale.lowest || scale.highest - scale.lowest >= kMostPoints) {
        throw std::runtime_error("rating: has no points");
    }
    return scale;
}

std::optional<Guess> guess_of(const Json& told) {
    if (told.is_null()) {
        return std::nullopt;
    }
    Guess guess{.question = told.at("question"), .choices = {}};
    for (const Json& choice : told.at("choices")) {
        guess.choices.push_back({.key = choice.at("key"), .text = choice.at("text")});
    }
    if (guess.choices.empty()) {
        throw std::runtime_error("guess.choices: empty");
    }
    return guess;
}

PlannedRun run_of(const Json& told) {
    PlannedRun run{.code = told.at("code"),
                   .application = told.at("application"),
                   .name = told.at("name"),
                   .command = told.at("command"),
                   .cpu = {},
                   .seconds = told.at("seconds"),
                   .practice_seconds = told.at("practice_seconds"),
                   .state = state_of(told.at("state"))};
    if (const Json& cpu = told.at("cpu"); !cpu.is_null()) {
        run.cpu = cpu.get<int>();
    }
    if (run.seconds < 1 || run.command.empty()) {
        throw std::runtime_error("runs: one has no length or no command");
    }
    return run;
}

// The phase of a run in the journal; none if the run needs nothing more.
std::optional<Phase> phase_of(Step step) {
    switch (step) {
        case Step::Starting:
            return Phase::Ready;
        case Step::Running:
            return Phase::Interrupted;
        case Step::Ended:
            return Phase::Rate;
        case Step::Rated:
            return Phase::Guess;
        case Step::Aborted:
            return Phase::Stopped;
        case Step::Answered:
            return std::nullopt;
    }
    return std::nullopt;
}

// The phase of a run that is not in the journal: the laptop has lost the journal, or another laptop had the run.
std::optional<Phase> phase_of(RunState state) {
    switch (state) {
        case RunState::Planned:
        case RunState::Started:  // the server will say why it cannot start
            return Phase::Ready;
        case RunState::Aborted:
            return Phase::Stopped;
        case RunState::Rated:
        case RunState::Complete:
            return std::nullopt;
    }
    return std::nullopt;
}

std::optional<Phase> phase_of(const PlannedRun& run, const std::vector<KnownRun>& known) {
    const auto found = std::ranges::find(known, run.code, &KnownRun::code);
    if (run.state == RunState::Aborted) {
        return Phase::Stopped;
    }
    return found == known.end() ? phase_of(run.state) : phase_of(found->step);
}

// The run whose application the participant practises next. Practice comes only before the first run.
std::optional<std::size_t> to_practise(const Sitting& sitting, const std::vector<KnownRun>& known,
                                       const std::set<std::string>& practised) {
    const bool untouched = known.empty() && std::ranges::all_of(sitting.runs, [](const PlannedRun& run) {
                               return run.state == RunState::Planned;
                           });
    for (std::size_t i = 0; untouched && i < sitting.runs.size(); ++i) {
        if (sitting.runs[i].practice_seconds > 0 && !practised.contains(sitting.runs[i].application)) {
            return i;
        }
    }
    return std::nullopt;
}

}  // namespace

tl::expected<Sitting, std::string> read_sitting(const std::string& document) try {
    const Json told = Json::parse(document);
    Sitting sitting{.participant = told.at("participant"),
                    .study = told.at("study"),
                    .handout_read = told.at("handout_read"),
                    .rating = scale_of(told.at("rating")),
                    .guess = guess_of(told.at("guess")),
                    .runs = {}};
    for (const Json& run : told.at("runs")) {
        sitting.runs.push_back(run_of(run));
    }
    return sitting;
} catch (const std::exception& error) {
    return tl::unexpected(std::string("the sitting: ") + error.what());
}

Next next(const Sitting& sitting, const std::vector<KnownRun>& known, const std::set<std::string>& practised) {
    if (!sitting.handout_read) {
        return {.phase = Phase::Handout, .run = 0};
    }
    if (const auto run = to_practise(sitting, known, practised)) {
        return {.phase = Phase::Practice, .run = *run};
    }
    for (std::size_t i = 0; i < sitting.runs.size(); ++i) {
        if (const auto phase = phase_of(sitting.runs[i], known)) {
            return {.phase = *phase, .run = i};
        }
    }
    return {.phase = Phase::Finished, .run = sitting.runs.size()};
}

}  // namespace happe::study
