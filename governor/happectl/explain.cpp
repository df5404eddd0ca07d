// SPDX-License-Identifier: GPL-2.0-or-later
// happectl explain: says why this frequency applies, and what comes next.
#include "governor/explain/reasons.h"
#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <memory>

namespace happe::ctl {
namespace {

std::int64_t learned_us(const LearningEvent& event) {
    return event.at.time_since_epoch().count();
}

// The lessons of the profile in use. Empty during a run, whose lessons are only in its record.
Outcome<std::vector<LearningEvent>> lessons(DaemonProxy& daemon, const Properties& state) {
    std::vector<LearningEvent> all;
    if (!state.run.empty() || state.user.empty()) {
        return all;
    }
    return each_event_after(daemon, state.user, state.application, 0,
                            [&](const LearningEvent& event) { all.push_back(event); })
        .map([&](std::int64_t) { return std::move(all); });
}

Situation situation_of(const Properties& state) {
    return {.policies = state.policies,
            .targets = state.targets,
            .limits = state.limits,
            .sample = state.sample,
            .profile = state.user.empty() ? std::nullopt : state.profile,
            .descent = state.descent,
            .saver = state.savers.empty() ? std::string() : state.savers.front().application};
}

Wording english() {
    return {.frequency = gigahertz, .level = [](Level level) { return fmt::format("level {}", level.value); }};
}

nlohmann::ordered_json json_of(const Reasons& reasons, const Properties& state) {
    const auto& taught = reasons.taught;
    using nlohmann::ordered_json;
    const ordered_json lesson = taught ? ordered_json{{"number", taught->seq},
                                                      {"time", utc_time(learned_us(*taught))},
                                                      {"key", cause_of(taught->lesson)}}
                                       : ordered_json();
    const ordered_json limits =
        reasons.limits ? ordered_json({reasons.limits->least.value, reasons.limits->most.value}) : ordered_json();
    const bool probing = reasons.descent.state == "probing";
    const bool timed = probing || reasons.descent.state == "waiting";
    return {{"application", state.application},
            {"khz", reasons.decided.value},
            {"level", reasons.level.value},
            {"taught", lesson},
            {"probing", probing},
            {"restored_khz", probing ? ordered_json(reasons.descent.restored.value) : ordered_json()},
            {"seconds", timed ? ordered_json(reasons.descent.seconds) : ordered_json()},
            {"limits_khz", limits},
            {"saver", reasons.saver.empty() ? ordered_json() : ordered_json(reasons.saver)},
            {"why", why(reasons, state.application, taught ? utc_time(learned_us(*taught)) : "", english())},
            {"next", what_next(reasons, english())}};
}

std::string without_decision(const Properties& state, const Style& style) {
    if (hidden(state)) {
        return "HAPPE does not show you its decisions: they are another user's, or of a blind run.\n";
    }
    if (state.user.empty() || !state.reason.empty()) {
        return fmt::format("HAPPE sets no frequency now: {}.\n",
                           state.reason.empty() ? printable(state.state, style) : printable(state.reason, style));
    }
    return "HAPPE has not decided yet, because it has just begun with this application or undone a press: ask again in a "
           "second.\n";
}

Outcome<int> explain_state(DaemonProxy& daemon, const Output& output) {
    const auto state = daemon.properties();
    if (!state) {
        return pass_on(state);
    }
    const auto events = lessons(daemon, *state);
    if (!events) {
        return pass_on(events);
    }
    auto found = reasons(situation_of(*state), *events);
    if (!found) {
        say(output.json ? json_text(nullptr) : without_decision(*state, output.style()));
        return EX_OK;
    }
    if (output.json) {
        say(json_text(json_of(*found, *state)));
        return EX_OK;
    }
    const Style style = output.style();
    found->saver = printable(found->saver, style);
    const std::string taught = found->taught ? local_time(learned_us(*found->taught)) : "";
    say(why(*found, printable(state->application, style), taught, english()) + "\n" + what_next(*found, english()) +
        "\n");
    return EX_OK;
}

}  // namespace

void add_explain(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("explain", "Say why HAPPE has decided on this frequency");
    const auto output = std::make_shared<Output>();
    add_output(*command, *output);
    command->footer(
        "One sentence says which key press taught the frequency that applies now, whether HAPPE tries less, and whose\n"
        "limit holds. Another says what HAPPE tries next. With --json an object, or null where nothing is decided.\n\n"
        "Examples:\n"
        "  happectl explain\n"
        "  happectl explain --json | jq -r .next");
    with_daemon(*command, task, output, explain_state);
}

}  // namespace happe::ctl
