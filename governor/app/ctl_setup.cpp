// SPDX-License-Identifier: GPL-2.0-or-later
// happectl setup: the first run. It looks, asks, and changes nothing before everything is answered.
#include "governor/adapters/files.h"
#include "governor/adapters/key_binding.h"
#include "governor/app/ctl_child.h"
#include "governor/app/ctl_commands.h"
#include "governor/app/ctl_configuration.h"
#include "governor/app/ctl_files.h"
#include "governor/app/ctl_machine.h"
#include "governor/app/ctl_setup_keys.h"
#include "governor/app/ctl_setup_text.h"
#include "governor/app/ctl_view.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <iostream>
#include <memory>

namespace happe::ctl {
namespace {

constexpr const char* kConfiguration = "etc/happe/happe.toml";  // below a Root, like these
constexpr const char* kIndicatorUnit = "usr/lib/systemd/user/happe-indicator.service";
constexpr const char* kIndicatorWanted = "etc/systemd/user/graphical-session.target.wants/happe-indicator.service";
constexpr const char* kHappedWanted = "etc/systemd/system/multi-user.target.wants/happed.service";

struct SetupOptions {
    bool json = false;
    bool yes = false;
    bool stop_others = false;
    KeyPair keys;
    std::string mode;
    std::string autostart;  // "on", "off"; empty if not said
    Root root = "/";
    [[nodiscard]] bool of_this_machine() const { return root == "/"; }
};

// What is to be done.
struct Plan {
    Decided decided;
    std::vector<std::string> stopped;  // units of other programs
    bool autostart = false;
    bool has_indicator = false;
};

struct Machine {
    Findings findings;
    std::string configuration;  // its text; empty if there is none
    Configuration configured;
    std::string devices;
};

// ---- the conversation

// An answer, without the spaces around it.
Outcome<std::string> ask(const std::string& question) {
    std::cerr << question << std::flush;
    std::string line;
    if (!std::getline(std::cin, line)) {
        std::cerr << "\n";
        return trouble(EX_NOINPUT, "no answer; nothing was changed");
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

// ---- what is there

Outcome<Machine> look(const SetupOptions& options) {
    Machine machine;
    const Root& root = options.root;
    const std::string file = (root / kConfiguration).string();
    if (presence(file) == Presence::Present) {
        constexpr std::size_t kLongest = 65'536;
        const auto text = read_input(file, kLongest);
        const auto configured = configuration_in(file);
        if (!text || !configured) {
            return text ? pass_on(configured) : pass_on(text);
        }
        machine.configuration = *text;
        machine.configured = *configured;
    }
    machine.findings.policies = find_policies(root);
    machine.findings.intel_pstate = read_line(root / "sys/devices/system/cpu/intel_pstate/status");
    machine.findings.amd_pstate = read_line(root / "sys/devices/system/cpu/amd_pstate/status");
    if (auto bus = Bus::open()) {
        machine.findings.units = find_units(*bus, units_of_interest());
    }
    constexpr std::size_t kMostDevices = 1'048'576;
    machine.devices = read_input((root / "proc/bus/input/devices").string(), kMostDevices).value_or("");
    return machine;
}

std::vector<std::string> rivals(const Findings& findings) {
    std::vector<std::string> units;
    for (const Check& check : check_rivals(findings)) {
        if (check.verdict != Verdict::Ok) {
            units.push_back(check.name + ".service");
        }
    }
    return units;
}

void show(const Machine& machine) {
    for (const Check& check : {check_cpufreq(machine.findings), check_backend(machine.findings)}) {
        std::cerr << fmt::format("{}: {}\n", check.name, check.finding);
    }
}

// ---- the keys

Outcome<bool> systemctl(const SetupOptions& options, std::vector<std::string> words);

std::vector<KeyPair> proposals(const Machine& machine) {
    std::vector<KeyPair> pairs;
    const KeyPair configured{machine.configured.performance_key, machine.configured.power_key};
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

Outcome<KeyPair> checked(const KeyPair& keys) {
    const auto bindings = parse_key_bindings(keys.performance, keys.power);
    return bindings ? Outcome<KeyPair>(keys) : trouble(EX_USAGE, bindings.error().message);
}

Outcome<KeyPair> pressed_keys(const SetupOptions& options) {
    const std::string socket = (options.root / "run/happe-keys.sock").string();
    if (options.of_this_machine() && presence(socket) != Presence::Present) {
        if (const auto listens = systemctl(options, {"start", "happed-keys.socket"}); !listens) {
            return pass_on(listens);
        }
    }
    KeyPair keys;
    for (auto* const key : {&keys.performance, &keys.power}) {
        std::cerr << fmt::format("Press the key for {}. Keys that type text don't count.\n",
                                 key == &keys.power ? "\"save power\"" : "\"faster\"");
        const auto learned = learn_key_by(socket);
        if (!learned) {
            return pass_on(learned);
        }
        *key = *learned;
        std::cerr << fmt::format("  {}\n", *learned);
    }
    return checked(keys);
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
    std::cerr << "\nWhich keys teach? The first asks for more speed, the second saves power.\n";
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        std::cerr << fmt::format("  {}  {} and {}\n", i + 1, pairs[i].performance, pairs[i].power);
    }
    std::cerr << "  p  press them now (starts happed-keys.socket before anything is agreed)\n  n  type their names\n";
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

// ---- deciding

// Whether the indicator starts with the desktop: as it is if this was set up before, else it is proposed.
bool starts_with_desktop(const SetupOptions& options) {
    std::error_code absent;
    const bool again = std::filesystem::is_symlink(options.root / kHappedWanted, absent);
    const bool starts = !again || std::filesystem::is_symlink(options.root / kIndicatorWanted, absent);
    return options.autostart.empty() ? starts : options.autostart == "on";
}

Plan proposed(const SetupOptions& options, const Machine& machine) {
    Plan plan;
    const bool observe = machine.configured.observe || machine.findings.policies.empty();
    plan.decided.observe = options.mode.empty() ? observe : options.mode == "observe";
    plan.decided.keys = proposals(machine).front();
    plan.stopped = options.stop_others ? rivals(machine.findings) : std::vector<std::string>();
    plan.has_indicator = presence(options.root / kIndicatorUnit) == Presence::Present;
    plan.autostart = plan.has_indicator && starts_with_desktop(options);
    return plan;
}

Outcome<bool> ask_mode(const SetupOptions& options, const Machine& machine, Plan& plan) {
    if (!options.mode.empty()) {
        return true;
    }
    if (machine.findings.policies.empty()) {
        std::cerr << "\nHAPPE will only observe: there is no frequency to set here.\n";
        return true;
    }
    const auto govern = agreed("\nLet HAPPE set frequencies? No: it decides and shows only.", !plan.decided.observe);
    if (govern) {
        plan.decided.observe = !*govern;
    }
    return govern;
}

Outcome<bool> ask_others(const SetupOptions& options, const Machine& machine, Plan& plan) {
    for (const std::string& unit : options.stop_others ? std::vector<std::string>() : rivals(machine.findings)) {
        const auto stop = agreed(fmt::format("\n{} sets frequencies too. Stop and disable it?", unit), true);
        if (!stop) {
            return stop;
        }
        if (*stop) {
            plan.stopped.push_back(unit);
        }
    }
    return true;
}

Outcome<bool> ask_autostart(const SetupOptions& options, Plan& plan) {
    if (!plan.has_indicator || !options.autostart.empty()) {
        return true;
    }
    const auto wanted = agreed("\nStart the indicator with each user's desktop?", plan.autostart);
    plan.autostart = wanted.value_or(false);
    return wanted;
}

std::string as_text(const Plan& plan) {
    std::string text =
        fmt::format("mode        {}\nfaster      {}\nsave power  {}\n", plan.decided.observe ? "observe" : "govern",
                    plan.decided.keys.performance, plan.decided.keys.power);
    for (const std::string& unit : plan.stopped) {
        text += fmt::format("disabled    {}\n", unit);
    }
    return text + fmt::format("indicator   {}\n", plan.autostart ? "starts with the desktop" : "is not started");
}

Outcome<Plan> asked(const SetupOptions& options, const Machine& machine, Plan plan) {
    show(machine);
    if (options.keys.performance.empty()) {
        const auto keys = chosen_keys(options, proposals(machine));
        if (!keys) {
            return pass_on(keys);
        }
        plan.decided.keys = *keys;
    }
    for (const auto& answered :
         {ask_mode(options, machine, plan), ask_others(options, machine, plan), ask_autostart(options, plan)}) {
        if (!answered) {
            return pass_on(answered);
        }
    }
    const auto agreement = agreed("\n" + as_text(plan) + "Do this?", true);
    if (!agreement) {
        return pass_on(agreement);
    }
    return *agreement ? Outcome<Plan>(plan) : trouble(EX_NOINPUT, "nothing was changed");
}

Outcome<Plan> decide(const SetupOptions& options, const Machine& machine) {
    Plan plan = proposed(options, machine);
    if (!options.keys.performance.empty()) {
        const auto keys = checked(options.keys);
        if (!keys) {
            return pass_on(keys);
        }
        plan.decided.keys = *keys;
    }
    return options.yes ? Outcome<Plan>(plan) : asked(options, machine, plan);
}

// ---- doing

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
    return status == 0 ? Outcome<bool>(true)
                       : trouble(EX_UNAVAILABLE, fmt::format("{} failed; it says why above. Then: happectl "
                                                             "setup again",
                                                             fmt::join(words, " ")));
}

// False if systemd does not run here, as in a chroot: units are then enabled only.
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

// A file as it is named, or what a symbolic link of that name leads to.
std::filesystem::path behind_links(const std::filesystem::path& file) {
    std::error_code absent;
    const std::filesystem::path real = std::filesystem::canonical(file, absent);
    return absent ? file : real;
}

Outcome<bool> write_configuration(const SetupOptions& options, const Machine& machine, const Plan& plan) {
    const std::filesystem::path file = options.root / kConfiguration;
    const auto text = with_decided(machine.configuration, plan.decided, file.string());
    if (!text) {
        return pass_on(text);
    }
    if (*text == machine.configuration) {
        return false;
    }
    constexpr mode_t kEverybodyReads = 0644;
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    const auto written = write_file(behind_links(file), *text, kEverybodyReads);
    return written ? Outcome<bool>(true) : trouble(EX_IOERR, written.error().message);
}

std::string as_json(const Plan& plan, bool changed, bool started) {
    return json_text({{"mode", plan.decided.observe ? "observe" : "govern"},
                      {"performance", plan.decided.keys.performance},
                      {"power", plan.decided.keys.power},
                      {"disabled", plan.stopped},
                      {"autostart", plan.autostart},
                      {"configuration_changed", changed},
                      {"started", started}});
}

Outcome<int> set_up(const SetupOptions& options) {
    if (options.of_this_machine() && ::geteuid() != 0) {
        return trouble(EX_NOPERM, "only an administrator may: sudo happectl setup");
    }
    if (!options.yes && ::isatty(STDIN_FILENO) == 0) {
        return trouble(EX_USAGE, "setup asks at a terminal; elsewhere say --yes, with the options that you want");
    }
    if (options.keys.performance.empty() != options.keys.power.empty()) {
        return trouble(EX_USAGE, "--performance and --power come together");
    }
    const auto machine = look(options);
    const auto plan = machine ? decide(options, *machine) : pass_on(machine);
    if (!plan) {
        return pass_on(plan);
    }
    const auto changed = write_configuration(options, *machine, *plan);
    const auto started = changed ? do_with_units(options, *plan) : pass_on(changed);
    if (!started) {
        return pass_on(started);
    }
    const std::string next = *started ? "happed runs. Next: happectl doctor, happectl status --watch\n"
                                      : "happed starts with the machine.\n";
    say(options.json ? as_json(*plan, *changed, *started) : as_text(*plan) + next);
    return EX_OK;
}

}  // namespace

void add_setup(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("setup", "The first run: keys, mode, other programs, autostart");
    const auto options = std::make_shared<SetupOptions>();
    command->add_option("--performance", options->keys.performance, "The key that asks for more speed");
    command->add_option("--power", options->keys.power, "The key that saves power");
    command->add_option("--mode", options->mode, "govern, or observe: decide and show only")
        ->check(CLI::IsMember({"govern", "observe"}));
    command->add_option("--autostart", options->autostart, "Whether the indicator starts with each desktop: on or off")
        ->check(CLI::IsMember({"on", "off"}));
    command->add_flag("--stop-others", options->stop_others, "Stop and disable other programs that set frequencies");
    command->add_flag("--yes", options->yes, "Ask nothing: what is not said is as setup would propose it");
    command->add_flag("--json", options->json, "Print what was done as JSON, in ASCII");
    command->add_option("--root", options->root, "Look for files below this")->group("");
    command->footer(
        "Looks at the machine, asks, says what it will do, and does it when that is agreed to: writes\n"
        "/etc/happe/happe.toml (the rest of the file stays as it is) and starts happed, now and with the machine.\n"
        "Ctrl-C before that changes nothing, except that pressing keys starts happed-keys.socket. Again at any time,\n"
        "to change the answers. With --yes other programs are left alone unless --stop-others is said. An\n"
        "administrator may.\n\n"
        "Examples:\n"
        "  sudo happectl setup\n"
        "  sudo happectl setup --yes --performance KEY_F10 --power KEY_F9 --autostart off --json");
    command->callback([options, &task] { task = [options] { return set_up(*options); }; });
}

}  // namespace happe::ctl
