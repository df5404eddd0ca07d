// SPDX-License-Identifier: GPL-2.0-or-later
// The questions of happectl setup, and its proposals.
#include "governor/happectl/commands.h"
#include "governor/happectl/setup/setup.h"

#include <fmt/format.h>
#include <iostream>

namespace happe::ctl {
namespace {

// An answer, without the spaces around it.
Outcome<std::string> ask(const std::string& question) {
    std::cerr << question << std::flush;
    std::string line;
    if (!std::getline(std::cin, line)) {
        std::cerr << "\n";
        return trouble(EX_NOINPUT, "no answer; setup changed nothing");
    }
    const auto first = line.find_first_not_of(" \t\r");
    return first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

Outcome<bool> agreed(const std::string& question, bool proposed) {
    for (;;) {
        const auto answer = ask(fmt::format("{} [{}] ", question, proposed ? "Y/n" : "y/N"));
        if (!answer) {
            return pass_on(answer);
        }
        if (answer->empty() || *answer == "y" || *answer == "Y" || *answer == "yes") {
            return answer->empty() ? proposed : true;
        }
        if (*answer == "n" || *answer == "N" || *answer == "no") {
            return false;
        }
    }
}

void show(const SetupFindings& machine) {
    for (const Check& check : {check_cpufreq(machine.findings), check_backend(machine.findings)}) {
        std::cerr << fmt::format("{}: {}\n", check.name, check.finding);
    }
}

std::vector<KeyPair> proposals(const SetupFindings& machine) {
    std::vector<KeyPair> pairs;
    const KeyPair configured{machine.own.configured.performance_key, machine.own.configured.power_key};
    if (has_keys(machine.devices, configured)) {
        pairs.push_back(configured);
    }
    for (const KeyPair& pair : kLikelyKeys) {
        if (pair != configured && has_keys(machine.devices, pair)) {
            pairs.push_back(pair);
        }
    }
    if (pairs.empty()) {
        pairs.push_back(kLikelyKeys.back());  // a keyboard may come later
    }
    return pairs;
}

Outcome<KeyPair> typed_keys() {
    const auto performance = ask("Name of the key for \"faster\" (as KEY_F10, CTRL+KEY_UP): ");
    if (!performance) {
        return pass_on(performance);
    }
    const auto power = ask("Name of the key for \"save power\": ");
    return power ? checked({*performance, *power}) : pass_on(power);
}

void show_choices(const std::vector<KeyPair>& pairs) {
    std::cerr
        << "\nWhich keys teach? The first asks for more speed, the second saves power. The kernel lists keys that your\n"
           "keyboard may lack: if you do not know where these are, choose p.\n";
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        std::cerr << fmt::format("  {}  {} and {}\n", i + 1, pairs[i].performance, pairs[i].power);
    }
    std::cerr << "  p  press them now (this starts happed-keys.socket before you agree)\n  n  type their names\n";
}

Outcome<KeyPair> keys_by(const std::string& choice, const SetupOptions& options, const std::vector<KeyPair>& pairs) {
    if (choice == "p") {
        return pressed_keys(options);
    }
    if (choice == "n") {
        return typed_keys();
    }
    const std::size_t number = choice.size() == 1 ? static_cast<std::size_t>(choice[0] - '0') : 0;
    return number >= 1 && number <= pairs.size() ? Outcome<KeyPair>(pairs[number - 1])
                                                 : trouble(EX_DATAERR, "no such choice");
}

Outcome<KeyPair> chosen_keys(const SetupOptions& options, const std::vector<KeyPair>& pairs) {
    show_choices(pairs);
    for (;;) {
        const auto answer = ask("Your choice [1]: ");
        if (!answer) {
            return pass_on(answer);
        }
        const auto keys = keys_by(answer->empty() ? "1" : *answer, options, pairs);
        if (keys || keys.error().status == EX_NOINPUT) {
            return keys;
        }
        remark(keys.error().message);
    }
}

Outcome<std::vector<std::string>> units_to_stop(const std::vector<std::string>& rivals) {
    std::vector<std::string> stopped;
    for (const std::string& unit : rivals) {
        const auto stop = agreed(fmt::format("\n{} sets frequencies too. Stop and disable it?", unit), true);
        if (!stop) {
            return pass_on(stop);
        }
        if (*stop) {
            stopped.push_back(unit);
        }
    }
    return stopped;
}

// Asks what only the owner knows, unless the options answer it, and then whether to do it all.
Outcome<Plan> asked(const SetupOptions& options, const SetupFindings& machine, Plan plan) {
    show(machine);
    if (options.keys.performance.empty()) {
        const auto keys = chosen_keys(options, proposals(machine));
        if (!keys) {
            return pass_on(keys);
        }
        plan.decided.keys = *keys;
    }
    if (machine.findings.policies.empty()) {
        std::cerr << "\nHAPPE will only observe: there is no frequency to set here.\n";
    }
    if (!options.stop_others) {
        const auto stopped = units_to_stop(machine.rivals);
        if (!stopped) {
            return pass_on(stopped);
        }
        plan.stopped = *stopped;
    }
    const auto agreement = agreed("\n" + as_text(plan) + "Do this?", true);
    if (!agreement) {
        return pass_on(agreement);
    }
    return *agreement ? Outcome<Plan>(plan) : trouble(EX_NOINPUT, "nothing was changed");
}

Outcome<Plan> proposed(const SetupOptions& options, const SetupFindings& machine) {
    Plan plan;
    const bool observe = machine.own.configured.observe || machine.findings.policies.empty();
    plan.decided.observe = options.mode.empty() ? observe : options.mode == "observe";
    const auto keys = options.keys.performance.empty() ? proposals(machine).front() : checked(options.keys);
    if (!keys) {
        return pass_on(keys);
    }
    plan.decided.keys = *keys;
    plan.stopped = options.stop_others ? machine.rivals : std::vector<std::string>();
    plan.has_indicator = machine.has_indicator;
    plan.autostart =
        machine.has_indicator && (options.autostart.empty() ? machine.indicator_starts : options.autostart == "on");
    if (machine.gnome) {
        plan.gnome = *machine.gnome;
        plan.extension = options.extension.empty() ? !machine.gnome->declined : options.extension == "on";
    }
    return plan;
}

}  // namespace

Outcome<Plan> decide(const SetupOptions& options, const SetupFindings& machine) {
    const auto plan = proposed(options, machine);
    return plan && !options.yes ? asked(options, machine, *plan) : plan;
}

std::string as_text(const Plan& plan) {
    std::string text =
        fmt::format("mode        {}\nfaster      {}\nsave power  {}\n", plan.decided.observe ? "observe" : "govern",
                    plan.decided.keys.performance, plan.decided.keys.power);
    for (const std::string& unit : plan.stopped) {
        text += fmt::format("disabled    {}\n", unit);
    }
    text += fmt::format("indicator   {}\n", plan.autostart ? "starts with the desktop" : "is not started");
    if (plan.gnome) {
        text += fmt::format("extension   {} for {} in GNOME\n", plan.extension ? "enabled" : "not enabled",
                            plan.gnome->caller.name);
    }
    return text;
}

}  // namespace happe::ctl
