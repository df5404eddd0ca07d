// SPDX-License-Identifier: GPL-2.0-or-later
// happectl events: each lesson of an application.
#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"
#include "governor/happectl/vigil.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <iostream>
#include <memory>

namespace happe::ctl {
namespace {

constexpr std::uint32_t kPage = 1'000;

struct EventsOptions {
    Output output;
    std::string user;
    std::string application;
    std::int64_t after = 0;
    bool follow = false;
};

nlohmann::ordered_json event_json(const LearnedEvent& event) {
    return {{"number", event.number}, {"time", utc_time(event.micros)}, {"key", event.key},
            {"policy", event.policy}, {"level", event.level},           {"from_khz", event.from_khz},
            {"to_khz", event.to_khz}, {"ran_khz", event.ran_khz},       {"util_ppm", event.util_ppm}};
}

std::string key_word(const std::string& key, const Style& style) {
    if (key == "performance") {
        return "faster";
    }
    return key == "power" ? "save power" : printable(key, style);
}

// Columns of a fixed width, so that pages and what follows later stand below each other.
std::string event_line(const LearnedEvent& event, const Style& style) {
    return fit(fmt::format("{:<7} {:<19}  {:<10}  {:>5}  {:>9} -> {:<9}  {:>11}", event.number,
                           local_time(event.micros), key_word(event.key, style), event.level, gigahertz(event.from_khz),
                           gigahertz(event.to_khz), percent(event.util_ppm)),
               style.columns) +
           '\n';
}

std::string heads(const Style& style) {
    return fit(fmt::format("{:<7} {:<19}  {:<10}  {:>5}  {:>9}    {:<9}  {:>11}", "number", "time", "key", "level",
                           "from", "to", "busiest CPU"),
               style.columns) +
           '\n';
}

// All after number `after`, page by page; the number of the last one. A daemon that answers the same again ends it.
Outcome<std::int64_t> print_after(Daemon& daemon, const EventsOptions& options, std::int64_t after) {
    const Style style = options.output.style();
    for (;;) {
        const auto events = daemon.list_events(options.user, options.application, after, kPage);
        if (!events) {
            return pass_on(events);
        }
        const std::int64_t before = after;
        for (const LearnedEvent& event : *events) {
            if (event.number > after) {
                say(options.output.json ? json_text(event_json(event), -1) : event_line(event, style));
                after = event.number;
            }
        }
        std::cout.flush();
        if (events->size() < kPage || after == before || !std::cout) {
            return after;
        }
    }
}

Outcome<int> follow(Daemon& daemon, const EventsOptions& options, std::int64_t after) {
    Vigil vigil(daemon, Vigil::kEndings);
    for (;;) {
        const Vigil::Event event = vigil.wait(monotonic_now() + std::chrono::seconds{60});
        if (event == Vigil::Event::Signal) {
            return EX_OK;
        }
        if (event == Vigil::Event::Left) {
            return trouble(EX_UNAVAILABLE, "happed went away: systemctl status happed; journalctl -u happed -b");
        }
        const auto printed = print_after(daemon, options, after);
        if (!printed) {
            return pass_on(printed);
        }
        if (!std::cout) {
            return EX_OK;  // the program's end says so
        }
        after = *printed;
    }
}

Outcome<int> show_events(const EventsOptions& options) {
    auto daemon = Daemon::connect();
    if (!daemon) {
        return pass_on(daemon);
    }
    if (!options.output.json) {
        say(heads(options.output.style()));
    }
    const auto printed = print_after(*daemon, options, options.after);
    if (!printed) {
        return pass_on(printed);
    }
    return options.follow ? follow(*daemon, options, *printed) : EX_OK;
}

}  // namespace

void add_events(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("events", "Each key press that taught an application's profile");
    const auto options = std::make_shared<EventsOptions>();
    command->add_option("APPLICATION", options->application, "As happectl profiles list names it")
        ->required()
        ->check(kName);
    command->add_option("--user", options->user, "Another user's; an administrator may [your own]")->check(kName);
    command->add_option("--after", options->after, "Only those after this number")->check(CLI::Range(0L, INT64_MAX));
    command->add_flag("--follow", options->follow, "Wait for more, until Ctrl-C");
    add_output(*command, options->output);
    command->footer(
        "Oldest first: number, local time, key, level of normalised utilisation, the profile's frequency at that level\n"
        "before and after, and how busy the busiest CPU was. With --json an object a line, time in UTC.\n\n"
        "Examples:\n"
        "  happectl events torcs\n"
        "  happectl events torcs --after 120 --follow\n"
        "  happectl events torcs --json | jq -r .time");
    command->callback([options, &task] { task = [options] { return show_events(*options); }; });
}

}  // namespace happe::ctl
