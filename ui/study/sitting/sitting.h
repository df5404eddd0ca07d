// SPDX-License-Identifier: GPL-2.0-or-later
// The study server's answer when a participant sits down at the laptop (docs/study-wizard.md): their runs, and the
// questions after each. Nothing in it reveals a condition. What comes next follows from it and from the laptop's
// journal alone, so a killed wizard continues where it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace happe::study {

// One whole number from `lowest` to `highest`, at most eleven of them.
struct Scale {
    std::string question;
    std::string lowest_label;
    std::string highest_label;
    int lowest = 1;
    int highest = 5;
};

struct Choice {
    std::string key;
    std::string text;
};

struct Guess {
    std::string question;
    std::vector<Choice> choices;
};

// The server's names. The server sends no replaced runs.
enum class RunState : std::uint8_t { Planned, Started, Rated, Complete, Aborted };

struct PlannedRun {
    std::string code;
    std::string application;           // its key
    std::string name;                  // for people
    std::vector<std::string> command;  // has a word or more
    std::optional<int> cpu;            // the CPU for the application
    int seconds = 0;
    int practice_seconds = 0;  // 0: none
    RunState state = RunState::Planned;
};

struct Sitting {
    std::string participant;
    std::string study;
    bool handout_read = false;
    Scale rating;
    std::optional<Guess> guess;
    std::vector<PlannedRun> runs;  // in the order of the sitting
};

// Ignores unknown fields. An error names the field.
[[nodiscard]] tl::expected<Sitting, std::string> read_sitting(const std::string& document);

// The progress of a run in this laptop's journal.
//
//     starting --happed runs it--> running --it lasted--> ended --rating--> rated --guess--> answered
//        ^                            |                                       (without a guess: answered at once)
//        +------begun again-----------+          each of them --the experimenter's reason--> aborted
enum class Step : std::uint8_t { Starting, Running, Ended, Rated, Answered, Aborted };

struct KnownRun {
    std::string code;
    std::string start_id;      // the id of each request for the run's condition
    std::string governor_run;  // happed's name for the run; empty before it ran
    Step step = Step::Starting;
    std::vector<std::string> notes;  // interruptions, for the record
};

enum class Phase : std::uint8_t {
    Handout,      // the participant reads in the browser
    Practice,     // with the run's application
    Ready,        // somebody may start the run
    Interrupted,  // the run had started, and begins again
    Rate,
    Guess,
    Stopped,  // aborted, and not planned again yet
    Finished,
};

struct Next {
    Phase phase = Phase::Finished;
    std::size_t run = 0;  // the index of the run in the sitting
};

// `practised`: the keys of the applications that the participant has practised.
[[nodiscard]] Next next(const Sitting& sitting, const std::vector<KnownRun>& known,
                        const std::set<std::string>& practised);

}  // namespace happe::study
