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
constexpr const char* kShortcuts = "happectl feedback faster";  // needs no keyboard that happed reads
constexpr const char* kWithoutSystemd =
    "run this on the machine rather than in a container; without systemd, start happed by hand";
constexpr const char* kAsRoot = "sudo happectl doctor can see it";

// Another program that changes the same settings as HAPPE, its effect with each back-end, and advice. With CAP, its
// governor or preference only changes the driver's choice below HAPPE's cap.
struct Rival {
    std::string_view unit;  // its systemd unit, or the name of a program without a unit
    Verdict with_setspeed;
    Verdict with_cap;
    std::string_view what;
    std::string_view advice;  // empty: disable the unit
};

constexpr Verdict kFine = Verdict::Ok;
constexpr Verdict kMayClash = Verdict::Warn;
constexpr Verdict kClashes = Verdict::Fail;

constexpr std::string_view kPowerProfiles = "power-profiles-daemon.service";
constexpr std::string_view kTuned = "tuned.service";
constexpr std::string_view kTunedProfiles = "tuned-ppd.service";
constexpr std::string_view kGameMode = "gamemoded";

constexpr std::string_view kFollows = "HAPPE follows its power profile, and leaves the energy preference to it";

constexpr std::array kRivals = {
    Rival{kPowerProfiles, kFine, kFine, kFollows, ""},
    Rival{kTunedProfiles, kFine, kFine, kFollows, ""},
    Rival{"tlp-pd.service", kFine, kFine, kFollows, ""},
    Rival{kTuned, kClashes, kMayClash, "it sets governors, preferences and limits by profile", ""},
    Rival{
        "tlp.service", kClashes, kMayClash,
        "it sets governors, preferences and limits when the mains come or go; HAPPE keeps to the limits",
        "leave CPU_SCALING_GOVERNOR_ON_AC and _ON_BAT empty in /etc/tlp.conf, or systemctl disable --now tlp.service"},
    Rival{"auto-cpufreq.service", kClashes, kMayClash, "it sets governors and preferences every few seconds", ""},
    Rival{"laptop-mode.service", kClashes, kMayClash, "it sets governors when the mains come or go", ""},
    Rival{"system76-power.service", kClashes, kMayClash, "it sets governors and limits by profile", ""},
    Rival{"tccd.service", kClashes, kMayClash,
          "it sets governors, preferences and limits by profile; HAPPE keeps to the limits", ""},
    Rival{"asusd.service", kFine, kFine, "it sets only the platform's profile and the driver's energy preference", ""},
    Rival{"cpupower.service", kMayClash, kFine, "it sets a governor when it starts", ""},
    Rival{"cpufrequtils.service", kMayClash, kFine, "it sets a governor when it starts", ""},
    Rival{"ondemand.service", kMayClash, kFine, "it sets a governor when it starts", ""},
    Rival{"thermald.service", kFine, kFine, "it lowers limits when it is hot, and HAPPE keeps to them", ""},
    Rival{kGameMode, kMayClash, kFine, "it sets the governor performance while a game runs, after which HAPPE gives up",
          "set desiredgov=userspace below [general] in gamemode.ini"},
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

// True if the driver itself chooses a frequency below a limit, and so has only its own two governors.
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
    check.finding = "the kernel offers no frequency scaling here (a virtual machine, a container, or no driver)";
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
        check.finding = "SETSPEED: the kernel has the governor userspace";
        return check;
    }
    if (std::ranges::all_of(findings.policies, chooses_itself)) {
        const bool intel = !findings.intel_pstate.empty();
        check.finding = "CAP: HAPPE sets a limit, and this driver chooses below it; a study needs SETSPEED";
        check.advice = fmt::format("for a study, boot with {}", intel ? "intel_pstate=passive" : "amd_pstate=passive");
        return check;
    }
    check.verdict = Verdict::Warn;
    check.finding = "the kernel lacks the governor userspace";
    check.advice = "modprobe cpufreq_userspace, and write that name into /etc/modules-load.d/happe.conf";
    return check;
}

namespace {

bool is_cap(const Findings& findings) {
    return findings.daemon ? findings.daemon->backend == "cap"
                           : !findings.policies.empty() && std::ranges::all_of(findings.policies, chooses_itself);
}

// tuned stays if it serves the desktop's power profiles: to stop it would stop tuned-ppd.
Verdict verdict_on(const Rival& rival, const Findings& findings) {
    const UnitFound* const profiles = rival.unit == kTuned ? unit(findings, std::string(kTunedProfiles)) : nullptr;
    if (profiles != nullptr && profiles->active == "active") {
        return kFine;
    }
    return is_cap(findings) ? rival.with_cap : rival.with_setspeed;
}

// Nothing if the rival is not installed, or nothing starts it.
std::optional<Check> check_rival(const Rival& rival, const Findings& findings) {
    const UnitFound* const found = unit(findings, std::string(rival.unit));
    const bool installed = rival.unit == kGameMode && findings.gamemode;
    const bool active = found != nullptr && found->active == "active";
    if (!active && !installed && (found == nullptr || found->enabled != "enabled")) {
        return std::nullopt;
    }
    const Verdict worst = verdict_on(rival, findings);
    const char* const when = active ? "active" : installed ? "installed" : "starts with the machine";
    Check check{.name = std::string(rival.unit.substr(0, rival.unit.find('.'))),
                .verdict = active ? worst : std::min(worst, Verdict::Warn),
                .finding = fmt::format("{}: {}", when, rival.what)};
    if (check.verdict != Verdict::Ok) {
        check.advice = rival.advice.empty() ? fmt::format("systemctl disable --now {}", rival.unit) : rival.advice;
    }
    return check;
}

// Reasons why the service does not work. The first one that applies counts.
struct ServiceTrouble {
    bool (*applies)(const UnitFound&);
    Verdict verdict;
    std::string_view advice;
};

constexpr std::array kServiceTroubles = {
    ServiceTrouble{[](const UnitFound& unit) { return unit.load == "masked" || unit.enabled == "masked"; },
                   Verdict::Fail, "systemctl unmask happed && systemctl enable --now happed"},
    ServiceTrouble{[](const UnitFound& unit) { return unit.active == "failed"; }, Verdict::Fail,
                   "journalctl -u happed -b says why"},
    ServiceTrouble{[](const UnitFound& unit) { return unit.active != "active"; }, Verdict::Fail,
                   "systemctl enable --now happed"},
    ServiceTrouble{[](const UnitFound& unit) { return unit.enabled == "disabled"; }, Verdict::Warn,
                   "systemctl enable happed, or it won't start with the machine"},
    ServiceTrouble{[](const UnitFound& unit) { return unit.enabled.empty(); }, Verdict::Unknown,
                   "systemctl status happed says whether it starts with the machine"},
};

}  // namespace

std::vector<Check> check_rivals(const Findings& findings) {
    std::vector<Check> checks;
    for (const Rival& rival : kRivals) {
        if (auto check = check_rival(rival, findings)) {
            checks.push_back(*std::move(check));
        }
    }
    if (!findings.units) {
        checks.push_back({"other programs", Verdict::Unknown, "systemd does not answer", kWithoutSystemd});
    } else if (checks.empty()) {
        checks.push_back({"other programs", Verdict::Ok, "none that sets frequencies", ""});
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
    const auto* const trouble =
        std::ranges::find_if(kServiceTroubles, [&](const ServiceTrouble& each) { return each.applies(*found); });
    if (trouble != kServiceTroubles.end()) {
        check.verdict = trouble->verdict;
        check.advice = trouble->advice;
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
        check.advice = "stop the other program; HAPPE tries again when it is quiet, and after happectl reload at once";
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
        return {check.name, Verdict::Warn, fmt::format("{} is not active, so happed sees no key", kKeySocket),
                fmt::format("systemctl enable --now {}, or bind a key of the desktop to: {}", kKeySocket, kShortcuts)};
    }
    if (!findings.daemon) {
        return {check.name, Verdict::Unknown, "happed does not run, so it can't say which keyboards have the keys",
                "start happed"};
    }
    const std::uint32_t keyboards = findings.daemon->keyboards;
    check.finding = fmt::format("found on {} keyboard{}", keyboards, keyboards == 1 ? "" : "s");
    if (keyboards == 0) {
        check.verdict = Verdict::Warn;
        check.finding = "no keyboard has either key";
        check.advice = fmt::format(
            "happectl keys learn finds the name of a key you have; or bind a key of the desktop to: {}", kShortcuts);
    }
    return check;
}

Check check_configuration(const Findings& findings) {
    if (findings.configuration_mistake.empty()) {
        return {"configuration", Verdict::Ok, "valid", ""};
    }
    return {"configuration", Verdict::Fail, findings.configuration_mistake, "correct it, then run happectl reload"};
}

Check check_session(const Findings& findings) {
    Check check{.name = "session"};
    if (!findings.session) {
        check.verdict = Verdict::Warn;
        check.finding = "logind does not answer, so HAPPE cannot know who uses the machine, and does not govern";
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
            return {"profiles", Verdict::Unknown, "only root and happed can read the database", kAsRoot};
        case Presence::Absent:
            break;
    }
    if (!findings.daemon) {
        return {"profiles", Verdict::Ok, "none yet; happed creates the database", ""};
    }
    return {"profiles", Verdict::Warn, "happed runs without its database", "journalctl -u happed -b says why"};
}

Check check_found_state(const Findings& findings) {
    if (findings.daemon || findings.found_state == Presence::Absent) {
        return {"machine", Verdict::Ok, findings.daemon ? "happed looks after it" : "no state of HAPPE is left on it",
                ""};
    }
    if (findings.found_state == Presence::Unreadable) {
        return {"machine", Verdict::Unknown, "only root can read the state that happed found", kAsRoot};
    }
    return {"machine", Verdict::Fail, "happed ended without restoring the governor that it found",
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
        return {"installation", Verdict::Unknown, "only root can see the D-Bus policy and the polkit actions", kAsRoot};
    }
    return {"installation", Verdict::Ok, "D-Bus policy and polkit actions are installed", ""};
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
        if (rival.unit != kGameMode) {
            names.emplace_back(rival.unit);
        }
    }
    return names;
}

}  // namespace happe::ctl
