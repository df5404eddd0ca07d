// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/doctor/checks.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace happe::ctl {
namespace {

constexpr const char* kService = "happed.service";
constexpr const char* kKeySocket = "happed-keys.socket";
constexpr const char* kWithoutSystemd =
    "run this on the machine rather than in a container; without systemd, start happed by hand";
constexpr const char* kAsRoot = "sudo happectl doctor can see it";

// Other programs that set frequencies or governors.
struct Rival {
    std::string_view unit;
    Verdict while_active;
    std::string_view why;
};

constexpr std::array kRivals = {
    Rival{"power-profiles-daemon.service", Verdict::Fail, "it sets the driver's preference and governor by profile"},
    Rival{"tuned.service", Verdict::Fail, "it sets governors and limits by profile"},
    Rival{"auto-cpufreq.service", Verdict::Fail, "it sets governors every few seconds"},
    Rival{"tlp.service", Verdict::Fail, "it sets governors and limits when the mains come or go"},
    Rival{"laptop-mode.service", Verdict::Fail, "it sets governors when the mains come or go"},
    Rival{"cpupower.service", Verdict::Warn, "it sets a governor when it starts"},
    Rival{"cpufrequtils.service", Verdict::Warn, "it sets a governor when it starts"},
    Rival{"ondemand.service", Verdict::Warn, "it sets a governor when it starts"},
    Rival{"thermald.service", Verdict::Ok, "it lowers limits when it is hot, which HAPPE respects"},
};

const UnitFound* unit(const Findings& findings, const std::string& name) {
    if (!findings.units) {
        return nullptr;
    }
    const auto found = findings.units->find(name);
    return found == findings.units->end() || found->second.load == "not-found" ? nullptr : &found->second;
}

bool observes(const Findings& findings) {
    return findings.observe || (findings.daemon && findings.daemon->backend == "observe");
}

std::set<std::string> drivers(const Findings& findings) {
    std::set<std::string> names;
    for (const PolicyFound& policy : findings.policies) {
        names.insert(policy.driver);
    }
    return names;
}

std::string listed(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

bool has_userspace(const PolicyFound& policy) {
    return std::ranges::find(policy.governors, "userspace") != policy.governors.end();
}

// Whether the driver chooses by itself below a limit, and so has no governors but its own two.
bool chooses_itself(const PolicyFound& policy) {
    return policy.driver == "intel_pstate" || policy.driver == "amd-pstate-epp" || policy.driver == "amd_pstate_epp";
}

}  // namespace

Check check_cpufreq(const Findings& findings) {
    Check check{.name = "cpufreq"};
    if (!findings.policies.empty()) {
        check.finding = fmt::format("{} polic{} driven by {}", findings.policies.size(),
                                    findings.policies.size() == 1 ? "y" : "ies", listed(drivers(findings)));
        return check;
    }
    check.verdict = observes(findings) ? Verdict::Warn : Verdict::Fail;
    check.finding = "the kernel scales no frequency here (a virtual machine, a container, or no driver)";
    check.advice =
        "to see what HAPPE would decide, set mode = \"observe\" in /etc/happe/happe.toml; on real hardware "
        "switch on frequency scaling in the firmware, or load a driver (modprobe acpi-cpufreq)";
    return check;
}

Check check_backend(const Findings& findings) {
    Check check{.name = "back-end", .finding = "none without cpufreq"};
    if (findings.policies.empty()) {
        return check;
    }
    if (std::ranges::all_of(findings.policies, has_userspace)) {
        check.finding = "SETSPEED: the governor userspace is there";
        return check;
    }
    if (std::ranges::all_of(findings.policies, chooses_itself)) {
        const bool intel = !findings.intel_pstate.empty();
        check.finding = "CAP: this driver chooses below a limit that HAPPE sets; a study needs SETSPEED";
        check.advice = fmt::format("for a study, boot with {}", intel ? "intel_pstate=passive" : "amd_pstate=passive");
        return check;
    }
    check.verdict = Verdict::Warn;
    check.finding = "the governor userspace is not there";
    check.advice = "modprobe cpufreq_userspace, and its name into /etc/modules-load.d/happe.conf";
    return check;
}

std::vector<Check> check_rivals(const Findings& findings) {
    std::vector<Check> checks;
    for (const Rival& rival : kRivals) {
        const UnitFound* const found = unit(findings, std::string(rival.unit));
        const bool active = found != nullptr && found->active == "active";
        const bool enabled = found != nullptr && found->enabled == "enabled";
        if (!active && !enabled) {
            continue;
        }
        Check check{.name = std::string(rival.unit.substr(0, rival.unit.find('.')))};
        check.verdict = active ? rival.while_active : std::min(rival.while_active, Verdict::Warn);
        check.finding = fmt::format("{}: {}", active ? "active" : "starts with the machine", rival.why);
        if (check.verdict != Verdict::Ok) {
            check.advice = fmt::format("systemctl disable --now {}", rival.unit);
        }
        checks.push_back(check);
    }
    if (checks.empty()) {
        checks.push_back(findings.units
                             ? Check{"other programs", Verdict::Ok, "none that sets frequencies", ""}
                             : Check{"other programs", Verdict::Unknown, "systemd does not answer", kWithoutSystemd});
    }
    return checks;
}

Check check_service(const Findings& findings) {
    Check check{.name = "happed.service"};
    if (!findings.units) {
        return {check.name, Verdict::Unknown, "systemd does not answer on the system bus", kWithoutSystemd};
    }
    const UnitFound* const found = unit(findings, kService);
    if (found == nullptr) {
        return {check.name, Verdict::Fail, "not installed", "install the package happe-governor"};
    }
    check.finding = fmt::format("{}, {}", found->active, found->enabled.empty() ? found->load : found->enabled);
    if (found->load == "masked" || found->enabled == "masked") {
        check.verdict = Verdict::Fail;
        check.advice = "systemctl unmask happed && systemctl enable --now happed";
    } else if (found->active == "failed") {
        check.verdict = Verdict::Fail;
        check.advice = "journalctl -u happed -b says why";
    } else if (found->active != "active") {
        check.verdict = Verdict::Fail;
        check.advice = "systemctl enable --now happed";
    } else if (found->enabled == "disabled") {
        check.verdict = Verdict::Warn;
        check.advice = "systemctl enable happed, or it won't start with the machine";
    } else if (found->enabled.empty()) {
        check.verdict = Verdict::Unknown;
        check.finding = "active; systemd does not say whether it starts with the machine";
        check.advice = "systemctl status happed";
    }
    return check;
}

Check check_daemon(const Findings& findings) {
    Check check{.name = "happed"};
    if (!findings.daemon) {
        return {check.name, Verdict::Fail, findings.daemon.error().message, ""};
    }
    const Properties& state = *findings.daemon;
    check.finding =
        fmt::format("version {}, {}{}{}", state.version, state.state, state.reason.empty() ? "" : ": ", state.reason);
    if (state.state == "contested") {
        check.verdict = Verdict::Fail;
        check.advice = "stop the other program, then happectl reload";
    } else if (state.state == "failing") {
        check.verdict = Verdict::Fail;
        check.advice = "journalctl -u happed -b -p err says what the kernel refuses";
    }
    return check;
}

Check check_keys(const Findings& findings) {
    Check check{.name = "keys"};
    const UnitFound* const socket = unit(findings, kKeySocket);
    if (findings.units && (socket == nullptr || socket->active != "active")) {
        return {check.name, Verdict::Fail, fmt::format("{} is not active: no key can be seen", kKeySocket),
                fmt::format("systemctl enable --now {}", kKeySocket)};
    }
    if (!findings.daemon) {
        return {check.name, Verdict::Unknown, "happed is not there to say which keyboards have them", "start happed"};
    }
    const std::uint32_t keyboards = findings.daemon->keyboards;
    check.finding = fmt::format("found on {} keyboard{}", keyboards, keyboards == 1 ? "" : "s");
    if (keyboards == 0) {
        check.verdict = Verdict::Warn;
        check.finding = "no keyboard has either key";
        check.advice = "happectl keys learn finds the name of a key you have";
    }
    return check;
}

Check check_configuration(const Findings& findings) {
    if (findings.configuration_mistake.empty()) {
        return {"configuration", Verdict::Ok, "valid", ""};
    }
    return {"configuration", Verdict::Fail, findings.configuration_mistake, "mend it, then happectl reload"};
}

Check check_session(const Findings& findings) {
    Check check{.name = "session"};
    if (!findings.session) {
        check.verdict = Verdict::Warn;
        check.finding = "logind does not answer, so nobody is served";
        check.advice = "systemctl status systemd-logind";
    } else if (!*findings.session) {
        check.finding = "nobody is at seat0: HAPPE waits";
    } else if (const SessionFound& session = **findings.session; session.kind != "user") {
        check.finding = fmt::format("seat0 shows a {}: HAPPE waits for somebody to log in", session.kind);
    } else {
        check.finding = fmt::format("seat0 shows {}{}", session.user, session.locked ? ", locked: HAPPE waits" : "");
    }
    return check;
}

Check check_database(const Findings& findings) {
    switch (findings.database) {
        case Presence::Present:
            return {"profiles", Verdict::Ok, "the database is there", ""};
        case Presence::Unreadable:
            return {"profiles", Verdict::Unknown, "the database is for root and happed alone to see", kAsRoot};
        case Presence::Absent:
            break;
    }
    if (!findings.daemon) {
        return {"profiles", Verdict::Ok, "none yet; happed makes the database", ""};
    }
    return {"profiles", Verdict::Warn, "happed runs without its database", "journalctl -u happed -b says why"};
}

Check check_found_state(const Findings& findings) {
    if (findings.daemon || findings.found_state == Presence::Absent) {
        return {"machine", Verdict::Ok, findings.daemon ? "happed answers for it" : "as the kernel has it", ""};
    }
    if (findings.found_state == Presence::Unreadable) {
        return {"machine", Verdict::Unknown, "what happed found here is for root alone to see", kAsRoot};
    }
    return {"machine", Verdict::Fail, "happed ended without giving back the governor it found",
            "sudo happectl restore"};
}

Check check_installation(const Findings& findings) {
    if (findings.bus_policy == Presence::Absent) {
        return {"installation", Verdict::Fail, "the D-Bus policy org.happe.Governor1.conf is missing",
                "install the package happe-governor again, then systemctl reload dbus"};
    }
    if (findings.polkit_actions == Presence::Absent) {
        return {"installation", Verdict::Fail, "the polkit actions org.happe.governor1.policy are missing",
                "install the package happe-governor again"};
    }
    if (std::min(findings.bus_policy, findings.polkit_actions) == Presence::Unreadable) {
        return {"installation", Verdict::Unknown, "D-Bus policy and polkit actions are for root alone to see", kAsRoot};
    }
    return {"installation", Verdict::Ok, "D-Bus policy and polkit actions are there", ""};
}

std::vector<Check> examine(const Findings& findings) {
    std::vector<Check> checks = {check_cpufreq(findings), check_backend(findings),       check_installation(findings),
                                 check_service(findings), check_daemon(findings),        check_found_state(findings),
                                 check_keys(findings),    check_configuration(findings), check_session(findings),
                                 check_database(findings)};
    const std::vector<Check> rivals = check_rivals(findings);
    checks.insert(checks.end(), rivals.begin(), rivals.end());
    return checks;
}

std::vector<std::string> units_of_interest() {
    std::vector<std::string> names = {kService, kKeySocket};
    for (const Rival& rival : kRivals) {
        names.emplace_back(rival.unit);
    }
    return names;
}

}  // namespace happe::ctl
