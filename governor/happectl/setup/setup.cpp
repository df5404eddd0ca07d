// SPDX-License-Identifier: GPL-2.0-or-later
// happectl setup prepares the first run. It looks and asks, and changes something only after the last answer.
#include "governor/happectl/setup/setup.h"
#include "governor/happectl/commands.h"
#include "governor/happectl/files.h"
#include "governor/happectl/view.h"
#include "governor/happectl/waiter.h"

#include <fmt/ranges.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <memory>

namespace happe::ctl {
namespace {

constexpr const char* kIndicatorUnit = "usr/lib/systemd/user/happe-indicator.service";  // below a Root, like these
constexpr const char* kIndicatorWanted = "etc/systemd/user/graphical-session.target.wants/happe-indicator.service";
constexpr const char* kHappedWanted = "etc/systemd/system/multi-user.target.wants/happed.service";

std::vector<std::string> rivals(const Findings& findings) {
    std::vector<std::string> units;
    for (const Check& check : check_rivals(findings)) {
        const std::string unit = check.name + ".service";
        if (check.verdict >= Verdict::Warn && findings.units && findings.units->contains(unit)) {
            units.push_back(unit);
        }
    }
    return units;
}

bool indicator_starts(const Root& root) {
    std::error_code absent;
    const bool again = std::filesystem::is_symlink(root / kHappedWanted, absent);
    return !again || std::filesystem::is_symlink(root / kIndicatorWanted, absent);
}

Outcome<SetupFindings> look(const SetupOptions& options) {
    SetupFindings machine;
    const Root& root = options.root;
    auto own = read_own_configuration(root);
    if (!own) {
        return pass_on(own);
    }
    machine.own = *std::move(own);
    look_at_cpufreq(root, machine.findings);
    if (auto bus = Bus::open()) {
        machine.findings.units = find_units(*bus, units_of_interest());
    }
    machine.rivals = rivals(machine.findings);
    constexpr std::size_t kMostDevices = 1'048'576;
    machine.devices = read_input((root / "proc/bus/input/devices").string(), kMostDevices).value_or("");
    machine.has_indicator = presence(root / kIndicatorUnit) == Presence::Present;
    machine.indicator_starts = indicator_starts(root);
    machine.gnome = find_gnome(root);
    if (!machine.gnome && !options.extension.empty()) {
        remark("GNOME's extension stays as it was: " + machine.gnome.error().message);
    }
    return machine;
}

std::string as_json(const Plan& plan, bool changed, bool started) {
    return json_text({{"mode", plan.decided.observe ? "observe" : "govern"},
                      {"performance", plan.decided.keys.performance},
                      {"power", plan.decided.keys.power},
                      {"disabled", plan.stopped},
                      {"autostart", plan.autostart},
                      {"extension", plan.gnome ? nlohmann::json(plan.extension) : nlohmann::json()},
                      {"configuration_changed", changed},
                      {"started", started}});
}

// Advice on what each user can do.
std::string advice(const Root& root, const Plan& plan) {
    std::string text;
    if (plan.gnome && plan.extension) {
        text = "If the extension is new, GNOME runs it from the next login on.\n";
    } else if (presence(root / kExtension) == Presence::Present) {
        text = "On GNOME, each user enables HAPPE's extension: gnome-extensions enable happe@happe.org\n";
    }
    return text;
}

Outcome<int> set_up(const SetupOptions& options) {
    if (options.of_this_machine() && ::geteuid() != 0) {
        return trouble(EX_NOPERM, "only an administrator may do this: sudo happectl setup");
    }
    if (!options.yes && ::isatty(STDIN_FILENO) == 0) {
        return trouble(
            EX_USAGE,
            "setup needs a terminal for its questions; without one, give --yes and the options that you want");
    }
    if (options.keys.performance.empty() != options.keys.power.empty()) {
        return trouble(EX_USAGE, "--performance and --power need each other");
    }
    if (!has_systemctl()) {
        return trouble(EX_UNAVAILABLE, "there is no systemctl here, by which setup starts happed; nothing was changed");
    }
    const auto machine = look(options);
    auto plan = machine ? decide(options, *machine) : pass_on(machine);
    if (!plan) {
        return pass_on(plan);
    }
    const auto written = change_own_configuration(options.root, choices_of(plan->decided));
    const auto started = written ? do_with_units(options, *plan) : pass_on(written);
    if (!started) {
        return pass_on(started);
    }
    do_with_gnome(*plan);
    say(options.json ? as_json(*plan, written->changed, *started)
                     : as_text(*plan) + advice(options.root, *plan) +
                           (*started ? "happed runs. Next: happectl doctor, happectl status --watch\n"
                                     : "happed starts with the machine.\n"));
    return EX_OK;
}

}  // namespace

void add_setup(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("setup", "Set up HAPPE: keys, mode, other programs, autostart");
    const auto options = std::make_shared<SetupOptions>();
    command->add_option("--performance", options->keys.performance, "The key that asks for more speed");
    command->add_option("--power", options->keys.power, "The key that saves power");
    command->add_option("--mode", options->mode, "govern, or observe: only decide and show")
        ->check(CLI::IsMember({"govern", "observe"}));
    command->add_option("--autostart", options->autostart, "Whether the indicator starts with each desktop: on or off")
        ->check(CLI::IsMember({"on", "off"}));
    command->add_option("--extension", options->extension, "HAPPE's extension in your GNOME: on or off")
        ->check(CLI::IsMember({"on", "off"}));
    command->add_flag("--stop-others", options->stop_others, "Stop and disable other programs that set frequencies");
    command->add_flag("--yes", options->yes, "Ask nothing: take the keys that setup would propose");
    command->add_flag("--json", options->json, "Print the changes as JSON, in ASCII");
    command->add_option("--root", options->root, "Look for files below this")->group("");
    command->footer(
        "Looks at the machine, asks for the keys and whether to stop other programs, and shows the changes. When you\n"
        "agree, it writes the answers into /etc/happe/happe.toml, keeps the rest of that file, and starts happed, now and\n"
        "at each boot. Before you agree it changes nothing, except that pressing keys starts happed-keys.socket. Run it\n"
        "again to change the answers. With --yes it stops other programs only with --stop-others. Where GNOME Shell runs\n"
        "for the person who called sudo, it enables HAPPE's extension there, unless this person has disabled it.\n"
        "Only for administrators.\n\n"
        "Examples:\n"
        "  sudo happectl setup\n"
        "  sudo happectl setup --yes --performance KEY_F10 --power KEY_F9 --autostart off --json");
    command->callback([options, &task] { task = [options] { return set_up(*options); }; });
}

// The actions of happectl setup after the person has agreed.

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
