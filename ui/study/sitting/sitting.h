// SPDX-License-Identifier: GPL-2.0-or-later
// The study server's answer when a participant sits down at the laptop (docs/study-wizard.md): their runs, and the
// questions after each. Nothing in it reveals a condition.
#pragma once

#include <cstdint>
#include <optional>
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
    std::string title;
    bool handout_read = false;
    Scale rating;
    std::optional<Guess> guess;
    std::vector<PlannedRun> runs;  // in the order of the sitting
};

// Ignores unknown fields. An error names the field.
[[nodiscard]] tl::expected<Sitting, std::string> read_sitting(const std::string& document);

}  // namespace happe::study
