// SPDX-License-Identifier: GPL-2.0-or-later
// The actions of happectl setup after the person has agreed.
#include "governor/happectl/child.h"
#include "governor/happectl/commands.h"
#include "governor/happectl/setup/setup.h"

#include <fmt/ranges.h>
#include <csignal>

namespace happe::ctl {

bool has_systemctl() {
    const sigset_t none{};
    const auto child = Child::start({"sh", "-c", "command -v systemctl >/dev/null"}, none);
    return child && child->wait() == 0;
}

Outcome<bool> systemctl(const SetupOptions& options, std::vector<std::string> words) {
    words.insert(words.begin(), {"systemctl", "--quiet"});
    if (!options.of_this_machine()) {
        words.insert(words.begin() + 1, "--root=" + options.root.string());
    }
    sigset_t none;
    sigemptyset(&none);
    const auto child = Child::start(words, none);
    if (!child) {
        return pass_on(child);
    }
    const int status = child->wait();
    constexpr const char* kFailed = "{} failed; the reason is above. Correct it, then run happectl setup again";
    return status == 0 ? Outcome<bool>(true) : trouble(EX_UNAVAILABLE, fmt::format(kFailed, fmt::join(words, " ")));
}

Outcome<bool> do_with_units(const SetupOptions& options, const Plan& plan) {
    const bool runs = options.of_this_machine() && presence("/run/systemd/system") == Presence::Present;
    std::vector<std::vector<std::string>> steps;
    for (const std::string& unit : plan.stopped) {
        steps.push_back({"disable", unit});
        if (runs) {
            steps.back().insert(steps.back().begin() + 1, "--now");
        }
    }
    steps.push_back({"enable", "happed-keys.socket", "happed.service"});
    if (plan.has_indicator) {
        steps.push_back({"--global", plan.autostart ? "enable" : "disable", "happe-indicator.service"});
    }
    if (runs) {
        steps.push_back({"start", "happed-keys.socket"});
        steps.push_back({"restart", "happed.service"});
    }
    for (const auto& step : steps) {
        if (const auto done = systemctl(options, step); !done) {
            return done;
        }
    }
    return runs;
}

void do_with_gnome(Plan& plan) {
    if (!plan.gnome) {
        return;
    }
    if (const auto done = switch_extension(*plan.gnome, plan.extension); !done) {
        remark(fmt::format("GNOME's extension stays as it was: {}", done.error().message));
        plan.gnome.reset();
    }
}

}  // namespace happe::ctl
