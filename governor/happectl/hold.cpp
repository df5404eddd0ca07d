// SPDX-License-Identifier: GPL-2.0-or-later
// happectl hold: HAPPE steps aside while a command runs.
#include "governor/happectl/commands.h"
#include "governor/happectl/waiter.h"

#include <fmt/format.h>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

namespace happe::ctl {
namespace {

struct HoldOptions {
    std::string reason;
    std::vector<std::string> command;
};

// The name of the program that holds. Cuts a command's name to the bus's limit, between characters.
std::string held_by(const HoldOptions& options) {
    if (options.command.empty()) {
        return "happectl";
    }
    constexpr std::size_t kLongest = 60;
    return fit(printable(std::filesystem::path(options.command.front()).filename().string(), {}), kLongest);
}

Outcome<std::uint32_t> take_hold(DaemonProxy& daemon, const HoldOptions& options) {
    return daemon.call(method::kHold, held_by(options), options.reason);
}

// Waits until the command ends or a signal comes. When happed goes, the hold goes too; this takes it again when happed
// returns.
Outcome<int> keep(DaemonProxy& daemon, const HoldOptions& options, Waiter& waiter, std::optional<Child>& child) {
    for (;;) {
        switch (waiter.wait(MonoTime::max(), child ? &*child : nullptr)) {
            case Waiter::Event::Ended:
                return child->wait();
            case Waiter::Event::Signal:
                if (!child) {
                    return EX_OK;
                }
                waiter.pass_signal_to(*child);
                break;
            case Waiter::Event::Left:
                remark("happed ended, and the hold with it; the hold begins again when happed is back");
                break;
            case Waiter::Event::Returned:
                if (const auto again = take_hold(daemon, options); !again) {
                    remark("the hold could not begin again: " + again.error().message);
                }
                break;
            case Waiter::Event::Changed:
            case Waiter::Event::Time:
                break;
        }
    }
}

Outcome<int> hold(DaemonProxy& daemon, const HoldOptions& options) {
    Waiter waiter(daemon, Waiter::kEndings);
    if (const auto held = take_hold(daemon, options); !held) {
        return pass_on(held);
    }
    std::optional<Child> child;
    if (options.command.empty()) {
        remark("HAPPE steps aside until Ctrl-C");
    } else {
        auto started = Child::start(options.command, waiter.found_mask());
        if (!started) {
            return pass_on(started);
        }
        child.emplace(*std::move(started));
    }
    return keep(daemon, options, waiter, child);
}

}  // namespace

void add_hold(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("hold", "Use the kernel's governor while a command runs");
    const auto options = std::make_shared<HoldOptions>();
    command->add_option("--reason", options->reason, "Shown by happectl status")->check(kName);
    command->add_option("COMMAND", options->command, "The command and its arguments, after -- [until Ctrl-C]");
    command->footer(
        "HAPPE restores the machine until the command ends; several holds may overlap. The exit\n"
        "status is the command's; 127 if it is not found, 126 if it cannot be run.\n\n"
        "Examples:\n"
        "  happectl hold -- make -j8\n"
        "  happectl hold --reason 'measuring' -- ./benchmark --runs 10\n"
        "  happectl hold");
    with_daemon(*command, task, options, hold);
}

}  // namespace happe::ctl
