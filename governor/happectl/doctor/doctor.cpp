// SPDX-License-Identifier: GPL-2.0-or-later
// happectl doctor: finds what keeps HAPPE from working, and gives advice.
#include "governor/happectl/commands.h"
#include "governor/happectl/doctor/checks.h"
#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <algorithm>
#include <memory>

namespace happe::ctl {
namespace {

struct DoctorOptions {
    Output output;
    Root root = "/";
};

void look_at_files(const Root& root, Findings& findings) {
    look_at_cpufreq(root, findings);
    findings.gamemode =
        std::max(presence(root / "usr/bin/gamemoded"), presence(root / "usr/games/gamemoded")) == Presence::Present;
    findings.database = presence(root / "var/lib/happe/profiles.db");
    findings.found_state = presence(root / kFoundState);
    findings.bus_policy = std::max(presence(root / "usr/share/dbus-1/system.d/org.happe.Governor1.conf"),
                                   presence(root / "etc/dbus-1/system.d/org.happe.Governor1.conf"));
    findings.polkit_actions = presence(root / "usr/share/polkit-1/actions/org.happe.governor1.policy");
}

void look_at_configuration(const Root& root, Findings& findings) {
    const auto configuration = configuration_in((root / kConfigurationFile).string());
    if (configuration) {
        findings.observe = configuration->observe;
    } else if (configuration.error().status != EX_NOINPUT) {  // without a file the defaults hold
        findings.configuration_mistake = configuration.error().message;
    }
}

void look_at_bus(Findings& findings) {
    auto daemon = DaemonProxy::connect();
    if (!daemon) {
        findings.daemon = pass_on(daemon);
        return;
    }
    findings.daemon = daemon->properties();
    findings.units = find_units(daemon->bus(), units_of_interest());
    findings.session = find_session(daemon->bus());
}

const char* word(Verdict verdict) {
    switch (verdict) {
        case Verdict::Ok:
            return "ok";
        case Verdict::Unknown:
            return "unknown";
        case Verdict::Warn:
            return "warn";
        case Verdict::Fail:
            return "fail";
    }
    return "";
}

std::string as_text(const std::vector<Check>& checks, const Style& style) {
    std::string text;
    for (const Check& check : checks) {
        text += fmt::format("{:<7} {}: {}\n", word(check.verdict), check.name, printable(check.finding, style));
        text += check.advice.empty() ? "" : fmt::format("        -> {}\n", check.advice);
    }
    return text;
}

std::string as_json(const std::vector<Check>& checks) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Check& check : checks) {
        all.push_back({{"check", check.name},
                       {"verdict", word(check.verdict)},
                       {"finding", check.finding},
                       {"advice", check.advice}});
    }
    return json_text(all);
}

Outcome<int> examine_machine(const DoctorOptions& options) {
    Findings findings;
    look_at_files(options.root, findings);
    look_at_configuration(options.root, findings);
    look_at_bus(findings);
    const std::vector<Check> checks = examine(findings);
    say(options.output.json ? as_json(checks) : as_text(checks, options.output.style()));
    return std::ranges::count(checks, Verdict::Fail, &Check::verdict) > 0 ? 1 : EX_OK;
}

}  // namespace

void add_doctor(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("doctor", "Find problems, and say how to solve them");
    const auto options = std::make_shared<DoctorOptions>();
    command->add_option("--root", options->root, "Look for files below this")->group("");
    add_output(*command, options->output);
    command->footer(
        "Checks the kernel's drivers, other programs that set frequencies, the service, keys, session, configuration and\n"
        "files. Prints ok, warn, fail or unknown for each, and advice. Works without happed too. The exit status is 1 if a\n"
        "check fails.\n\n"
        "Examples:\n"
        "  happectl doctor\n"
        "  happectl doctor --json | jq '.[] | select(.verdict != \"ok\")'");
    command->callback([options, &task] { task = [options] { return examine_machine(*options); }; });
}

}  // namespace happe::ctl
