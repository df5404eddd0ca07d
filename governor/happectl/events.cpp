// SPDX-License-Identifier: GPL-2.0-or-later
// happectl events: each lesson of an application.
#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"
#include "governor/happectl/waiter.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <iostream>
#include <memory>

namespace happe::ctl {
namespace {

struct EventsOptions {
    Output output;
    std::string user;
    std::string application;
    std::int64_t after = 0;
    bool follow = false;
};

std::int64_t micros(const LearningEvent& event) {
    return event.at.time_since_epoch().count();
}

nlohmann::ordered_json event_json(const LearningEvent& event) {
    const Lesson& lesson = event.lesson;
    nlohmann::ordered_json all = {{"number", event.seq},
                                  {"time", utc_time(micros(event))},
                                  {"key", event.undoes != 0 ? "undo" : cause_of(lesson)},
                                  {"policy", lesson.policy.value},
                                  {"level", lesson.level.value},
                                  {"from_khz", lesson.from.value},
                                  {"to_khz", lesson.to.value},
                                  {"ran_khz", lesson.current.value},
                                  {"util_ppm", lesson.utilisation.value}};
    if (event.undoes != 0) {
        all["undoes"] = event.undoes;
    }
    return all;
}

std::string what(const LearningEvent& event) {
    if (event.undoes != 0) {
        return fmt::format("undo {}", event.undoes);
    }
    if (event.lesson.probe) {
        return "probe";
    }
    return event.lesson.key == Key::Performance ? "faster" : "save power";
}

// Columns have a fixed width, so that they line up across pages and later events.
std::string event_line(const LearningEvent& event, const Style& style) {
    const Lesson& lesson = event.lesson;
    return fit(fmt::format("{:<7} {:<19}  {:<10}  {:>5}  {:>9} -> {:<9}  {:>11}", event.seq, local_time(micros(event)),
                           what(event), lesson.level.value, gigahertz(lesson.from), gigahertz(lesson.to),
                           percent(lesson.utilisation)),
               style.columns) +
           '\n';
}

std::string heads(const Style& style) {
    return fit(fmt::format("{:<7} {:<19}  {:<10}  {:>5}  {:>9}    {:<9}  {:>11}", "number", "time", "key", "level",
                           "from", "to", "busiest CPU"),
               style.columns) +
           '\n';
}

// Prints all events after number `after`, page by page, and returns the last number.
Outcome<std::int64_t> print_after(DaemonProxy& daemon, const EventsOptions& options, std::int64_t after) {
    const Style style = options.output.style();
    return each_event_after(daemon, options.user, options.application, after, [&](const LearningEvent& event) {
        if (after == options.after && !options.output.json) {
            say(heads(style));
        }
        after = event.seq;
        say(options.output.json ? json_text(event_json(event), -1) : event_line(event, style));
    });
}

Outcome<int> follow(DaemonProxy& daemon, const EventsOptions& options, std::int64_t after) {
    Waiter waiter(daemon, Waiter::kEndings);
    for (;;) {
        const Waiter::Event event = waiter.wait(monotonic_now() + std::chrono::seconds{60});
        if (event == Waiter::Event::Signal) {
            return EX_OK;
        }
        if (event == Waiter::Event::Left) {
            return trouble(EX_UNAVAILABLE, "happed went away: systemctl status happed; journalctl -u happed -b");
        }
        const auto printed = print_after(daemon, options, after);
        if (!printed) {
            return pass_on(printed);
        }
        if (!std::cout) {
            return EX_OK;  // the program reports the error when it ends
        }
        after = *printed;
    }
}

Outcome<int> show_events(DaemonProxy& daemon, const EventsOptions& options) {
    const auto printed = print_after(daemon, options, options.after);
    if (!printed) {
        return pass_on(printed);
    }
    if (options.follow) {
        return follow(daemon, options, *printed);
    }
    if (*printed == options.after && !options.output.json) {
        remark(fmt::format("no key press to show of {}: happectl profiles list names the applications that HAPPE knows",
                           printable(options.application, options.output.style())));
    }
    return EX_OK;
}

}  // namespace

Outcome<std::int64_t> each_event_after(DaemonProxy& daemon, const std::string& user, const std::string& application,
                                       std::int64_t after, const std::function<void(const LearningEvent&)>& take) {
    constexpr std::uint32_t kPage = 1'000;
    for (;;) {
        const auto page = daemon.call(method::kListEvents, user, application, after, kPage);
        if (!page) {
            return pass_on(page);
        }
        const std::int64_t before = after;
        for (const LearningEvent& event : *page) {
            if (event.seq > after) {
                take(event);
                after = event.seq;
            }
        }
        std::cout.flush();
        if (page->size() < kPage || after == before || !std::cout) {
            return after;
        }
    }
}

void add_events(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("events", "List the key presses that taught a profile");
    const auto options = std::make_shared<EventsOptions>();
    add_application(*command, options->application);
    add_user(*command, options->user, "List the presses of this user");
    command->add_option("--after", options->after, "Only presses with a higher number than this")
        ->check(CLI::Range(0L, INT64_MAX));
    command->add_flag("--follow", options->follow, "Go on with new presses, until Ctrl-C");
    add_output(*command, options->output);
    command->footer(
        "Prints a line for each press and each undo, and for each probe: a lower frequency that HAPPE tried by itself. The\n"
        "oldest is first. A line has the number, the local time, the key, the level of work from 0 (idle) to 9 (full\n"
        "speed), the profile's frequency at that level before and after, and how busy the busiest CPU was. With --json\n"
        "each line is a JSON object, and its time is in UTC.\n\n"
        "Examples:\n"
        "  happectl events torcs\n"
        "  happectl events torcs --after 120 --follow\n"
        "  happectl events torcs --json | jq -r .time");
    with_daemon(*command, task, options, show_events);
}

}  // namespace happe::ctl
