// SPDX-License-Identifier: GPL-2.0-or-later
// happectl undo: undoes the last lessons.
#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <memory>

namespace happe::ctl {
namespace {

struct UndoOptions {
    Output output;
    std::string user;
    std::string application;
    std::uint32_t count = 1;
};

std::string in_words(const UndoneLesson& undone, const Style& style) {
    const Lesson& lesson = undone.event.lesson;
    const char* const cause = lesson.probe ? "a probe" : lesson.key == Key::Performance ? "faster" : "save power";
    return fmt::format("undone: lesson {}, {} in {}; level {} goes back from {} to {}\n", undone.event.seq, cause,
                       printable(undone.whom.app, style), lesson.level.value, gigahertz(lesson.to),
                       gigahertz(lesson.from));
}

nlohmann::ordered_json in_json(const UndoneLesson& undone) {
    const Lesson& lesson = undone.event.lesson;
    return {{"number", undone.event.seq},  {"application", undone.whom.app}, {"key", cause_of(lesson)},
            {"level", lesson.level.value}, {"from_khz", lesson.from.value},  {"to_khz", lesson.to.value}};
}

Outcome<int> undo(const UndoOptions& options) {
    return with_daemon([&](DaemonProxy& daemon) -> Outcome<int> {
        const auto undone = daemon.call(method::kUndo, options.user, options.application, options.count);
        if (!undone) {
            return pass_on(undone);
        }
        nlohmann::ordered_json all = nlohmann::ordered_json::array();
        for (const UndoneLesson& lesson : *undone) {
            all.push_back(in_json(lesson));
            say(options.output.json ? "" : in_words(lesson, options.output.style()));
        }
        say(options.output.json ? json_text(all) : "");
        if (undone->size() < options.count) {
            remark(fmt::format("{} undone; no older lesson can be undone", undone->size()));
        }
        return EX_OK;
    });
}

}  // namespace

void add_undo(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("undo", "Undo your last key presses");
    const auto options = std::make_shared<UndoOptions>();
    command->add_option("N", options->count, "How many lessons to undo; a lesson is all that one press taught")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    command
        ->add_option("--app", options->application,
                     "Only lessons of this application, as happectl profiles list names it")
        ->check(kName);
    command
        ->add_option("--user", options->user,
                     "Undo the lessons of this user [you]; only administrators may name somebody else")
        ->check(kName);
    add_output(*command, options->output);
    command->footer(
        "Undoes the newest lesson first, in any application. Then each level of the profile has the value from before\n"
        "that press. Another undo goes one lesson further back. happectl events shows lessons and undos. HAPPE cannot\n"
        "undo lessons of version 0.1, or lessons that it no longer keeps, or any lesson during a study's run.\n\n"
        "Examples:\n"
        "  happectl undo\n"
        "  happectl undo 3 --app torcs");
    command->callback([options, &task] { task = [options] { return undo(*options); }; });
}

}  // namespace happe::ctl
