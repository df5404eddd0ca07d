// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/steps.h"

#include <algorithm>
#include <optional>

namespace happe::study {
namespace {

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
