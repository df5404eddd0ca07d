// SPDX-License-Identifier: GPL-2.0-or-later
// happectl status, and its live display.
#include "governor/happectl/commands.h"
#include "governor/happectl/view.h"
#include "governor/happectl/waiter.h"
#include "governor/system/files.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

namespace happe::ctl {
namespace {

constexpr std::chrono::seconds kPeriod{1};
constexpr std::chrono::milliseconds kShortestPause{100};  // between two pictures, at any rate of changes
constexpr std::chrono::seconds kPatience{3};              // Ctrl-C waits this long if the daemon does not answer

constexpr std::array kOfATerminal = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

struct StatusOptions {
    Output output;
    bool watch = false;
};

// The terminal's alternate screen. The destructor returns to the normal one.
class Screen {
public:
    Screen() { enter(); }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    ~Screen() { leave(); }

    static bool possible() {
        const char* const terminal = std::getenv("TERM");
        return ::isatty(STDOUT_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
    }

    // The caller has cut each line. The terminal drops lines that do not fit.
    static bool show(const std::string& text) {
        std::string picture = "\x1b[H";
        for (const std::string& line : lines_of(text)) {
            picture += line + "\x1b[K\n";
        }
        return write_all(STDOUT_FILENO, picture + "\x1b[J");
    }

    // Stops the process until somebody continues it.
    static void stop() {
        leave();
        std::raise(SIGSTOP);
        enter();
    }

private:
    static void enter() { write_all(STDOUT_FILENO, "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"); }
    static void leave() { write_all(STDOUT_FILENO, "\x1b[?7h\x1b[?25h\x1b[?1049l"); }
};

// Shows each state: as a picture on a terminal, otherwise as a line.
class Display {
public:
    explicit Display(const Output& output) : output_(output) {
        if (!output.json && Screen::possible()) {
            screen_ = std::make_unique<Screen>();
        }
    }

    // False if the output is closed.
    bool show(const Properties& state) {
        if (output_.json) {
            return write_all(STDOUT_FILENO, json_text(status_json(state), -1));
        }
        const Style style = output_.style();
        if (screen_ == nullptr) {
            return write_all(STDOUT_FILENO, status_line(state, style));
        }
        return Screen::show(status_text(state, style) + fit("\nCtrl-C ends this", style.columns + 1));
    }

    [[nodiscard]] bool draws() const { return screen_ != nullptr; }

private:
    const Output& output_;
    std::unique_ptr<Screen> screen_;
};

// The time of the next picture; empty if the watch is over.
Outcome<std::optional<MonoTime>> next_time(Waiter& waiter, MonoTime shown, bool draws) {
    MonoTime due = shown + kPeriod;
    for (;;) {
        const Waiter::Event event = waiter.wait(due);
        if (event == Waiter::Event::Left) {
            return trouble(EX_UNAVAILABLE, "happed went away: systemctl status happed; journalctl -u happed -b");
        }
        if (event == Waiter::Event::Time) {
            return due;
        }
        if (event == Waiter::Event::Changed && draws) {
            due = std::min(due, shown + kShortestPause);
        }
        if (event == Waiter::Event::Signal && waiter.signal() == SIGTSTP) {
            Screen::stop();
            due = shown;
        } else if (event == Waiter::Event::Signal && waiter.signal() == SIGWINCH) {
            due = shown;
        } else if (event == Waiter::Event::Signal) {
            return std::optional<MonoTime>();
        }
    }
}

Outcome<int> unwritable() {
    const char* const why = std::strerror(errno);
    return trouble(EX_IOERR, fmt::format("standard output: {}", why));
}

Outcome<int> watch(DaemonProxy& daemon, const StatusOptions& options) {
    Display display(options.output);
    Waiter waiter(daemon,
                  display.draws() ? std::span<const int>(kOfATerminal) : std::span<const int>(Waiter::kEndings));
    for (;;) {
        const MonoTime now = monotonic_now();
        const auto state = daemon.properties(kPatience);
        if (!state) {
            return pass_on(state);
        }
        if (!display.show(*state)) {
            return unwritable();
        }
        const auto next = next_time(waiter, now, display.draws());
        if (!next) {
            return pass_on(next);
        }
        if (!*next) {
            return EX_OK;
        }
    }
}

Outcome<int> show_status(DaemonProxy& daemon, const StatusOptions& options) {
    if (options.watch) {
        return watch(daemon, options);
    }
    const auto state = daemon.properties();
    if (!state) {
        return pass_on(state);
    }
    say(options.output.json ? json_text(status_json(*state)) : status_text(*state, options.output.style()));
    return EX_OK;
}

}  // namespace

void add_status(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("status", "Show what HAPPE does now, for whom, and why");
    const auto options = std::make_shared<StatusOptions>();
    command->add_flag("--watch", options->watch, "Update it until Ctrl-C; into a pipe, a line each second");
    add_output(*command, options->output);
    command->footer(
        "Shows for each policy (CPUs that share a frequency): the decided frequency and its step of the ladder, the\n"
        "frequency in the last period, the utilisation of its busiest CPU, and the level. Below is the profile (UAFP) in\n"
        "use: a value for each level, with the current level in brackets. \"limits\" shows limits by other programs or\n"
        "the kernel. \"lower\" names programs that asked for one step less than learned. The state is \"failing\" while\n"
        "HAPPE cannot govern a policy; a line below the table gives the reason.\n\n"
        "Examples:\n"
        "  happectl status\n"
        "  happectl status --watch\n"
        "  happectl status --json | jq .policies\n"
        "  happectl status --watch --json >log.jsonl");
    with_daemon(*command, task, options, show_status);
}

}  // namespace happe::ctl
