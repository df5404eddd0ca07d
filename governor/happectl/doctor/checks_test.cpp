// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/doctor/checks.h"

#include <gtest/gtest.h>
#include <algorithm>

namespace happe::ctl {
namespace {

// A machine without trouble.
Findings healthy() {
    Findings findings;
    findings.policies = {{0, "acpi-cpufreq", "userspace", {"ondemand", "userspace", "performance"}}};
    findings.units = {{"happed.service", {"loaded", "active", "enabled"}},
                      {"happed-keys.socket", {"loaded", "active", "enabled"}},
                      {"tuned.service", {"not-found", "inactive", ""}}};
    findings.session = Outcome<SessionFound>(SessionFound{"alice", "user", false});
    Properties state;
    state.version = "0.1.0";
    state.backend = "setspeed";
    state.state = "governing";
    state.keyboards = 1;
    findings.daemon = state;
    findings.database = findings.bus_policy = findings.polkit_actions = Presence::Present;
    return findings;
}

Findings without_daemon() {
    Findings findings = healthy();
    findings.daemon = trouble(EX_UNAVAILABLE, "happed is not running");
    return findings;
}

TEST(Doctor, SaysWhatToDoAboutEverythingThatIsNotWell) {
    Findings findings = without_daemon();
    findings.policies.clear();
    findings.units->at("happed.service").active = "failed";
    findings.units->at("happed-keys.socket").active = "inactive";
    (*findings.units)["tuned.service"] = {"loaded", "active", "enabled"};
    findings.found_state = Presence::Present;
    findings.configuration_mistake = "happe.toml:1: mode: unknown";
    findings.bus_policy = Presence::Absent;
    const std::vector<Check> checks = examine(findings);
    EXPECT_EQ(std::ranges::count(checks, Verdict::Fail, &Check::verdict), 7);
    for (const Check& check : checks) {
        EXPECT_TRUE(check.verdict == Verdict::Ok || !check.advice.empty() || check.name == "happed") << check.name;
    }
}

TEST(Doctor, WantsCpufreqUnlessItOnlyObserves) {
    Findings findings = without_daemon();
    findings.policies.clear();
    EXPECT_EQ(check_cpufreq(findings).verdict, Verdict::Fail);
    findings.observe = true;
    EXPECT_EQ(check_cpufreq(findings).verdict, Verdict::Warn);
    findings.observe = false;
    findings.daemon = healthy().daemon;
    findings.daemon->backend = "observe";
    EXPECT_EQ(check_cpufreq(findings).verdict, Verdict::Warn);
}

TEST(Doctor, TellsSetspeedFromCapAndSaysWhatAStudyNeeds) {
    Findings findings = healthy();
    EXPECT_NE(check_backend(findings).finding.find("SETSPEED"), std::string::npos);
    findings.policies = {{0, "intel_pstate", "powersave", {"performance", "powersave"}}};
    findings.intel_pstate = "active";
    const Check cap = check_backend(findings);
    EXPECT_EQ(cap.verdict, Verdict::Ok);
    EXPECT_EQ(cap.advice, "for a study, boot with intel_pstate=passive");
    findings.policies[0].driver = "amd-pstate-epp";
    findings.intel_pstate = "";
    EXPECT_EQ(check_backend(findings).advice, "for a study, boot with amd_pstate=passive");
}

TEST(Doctor, NamesTheModuleWhereUserspaceIsMissing) {
    Findings findings = healthy();
    findings.policies.push_back({1, "acpi-cpufreq", "ondemand", {"ondemand"}});
    const Check check = check_backend(findings);
    EXPECT_EQ(check.verdict, Verdict::Warn);
    EXPECT_NE(check.advice.find("modprobe cpufreq_userspace"), std::string::npos);
}

TEST(Doctor, TellsRivalsThatRunFromThoseThatStartWithTheMachine) {
    Findings findings = healthy();
    (*findings.units)["tlp.service"] = {"loaded", "active", "enabled"};
    (*findings.units)["auto-cpufreq.service"] = {"loaded", "inactive", "enabled"};
    (*findings.units)["tuned.service"] = {"loaded", "inactive", "disabled"};
    (*findings.units)["cpupower.service"] = {"loaded", "active", "enabled"};
    (*findings.units)["thermald.service"] = {"loaded", "active", "enabled"};
    const std::vector<Check> checks = check_rivals(findings);
    ASSERT_EQ(checks.size(), 4);
    const auto of = [&](std::string_view name) { return *std::ranges::find(checks, name, &Check::name); };
    EXPECT_EQ(of("tlp").verdict, Verdict::Fail);
    EXPECT_NE(of("tlp").advice.find("CPU_SCALING_GOVERNOR_ON_AC"), std::string::npos);
    EXPECT_EQ(of("auto-cpufreq").verdict, Verdict::Warn);
    EXPECT_EQ(of("cpupower").verdict, Verdict::Warn);
    EXPECT_EQ(of("thermald").verdict, Verdict::Ok);
}

TEST(Doctor, KnowsWhatGoesWithEachBackEnd) {
    const auto verdict = [](const char* unit, const char* backend) {
        Findings findings = healthy();
        findings.policies = {{.policy = 0, .driver = "intel_pstate"}};
        findings.daemon->backend = backend;
        (*findings.units)[unit] = {"loaded", "active", "enabled"};
        findings.gamemode = std::string_view(unit) == "gamemoded";
        const std::vector<Check> checks = check_rivals(findings);
        EXPECT_EQ(checks.size(), 1) << unit;
        EXPECT_EQ(checks.front().advice.empty(), checks.front().verdict == Verdict::Ok) << unit;
        return checks.front().verdict;
    };
    for (const char* const unit :
         {"tuned.service", "tlp.service", "auto-cpufreq.service", "system76-power.service", "tccd.service"}) {
        EXPECT_EQ(verdict(unit, "setspeed"), Verdict::Fail) << unit;
        EXPECT_EQ(verdict(unit, "cap"), Verdict::Warn) << unit;
    }
    EXPECT_EQ(verdict("gamemoded", "setspeed"), Verdict::Warn);
    EXPECT_EQ(verdict("gamemoded", "cap"), Verdict::Ok);
    for (const char* const unit : {"power-profiles-daemon.service", "tuned-ppd.service", "tlp-pd.service",
                                   "thermald.service", "asusd.service"}) {
        EXPECT_EQ(verdict(unit, "setspeed"), Verdict::Ok) << unit;
        EXPECT_EQ(verdict(unit, "cap"), Verdict::Ok) << unit;
    }
}

TEST(Doctor, TunedMayStayWhereItServesThePowerProfiles) {
    Findings findings = healthy();
    (*findings.units)["tuned.service"] = {"loaded", "active", "enabled"};
    EXPECT_EQ(check_rivals(findings).front().verdict, Verdict::Fail);
    (*findings.units)["tuned-ppd.service"] = {"loaded", "active", "enabled"};
    for (const Check& check : check_rivals(findings)) {
        EXPECT_EQ(check.verdict, Verdict::Ok) << check.name;
    }
}

TEST(Doctor, LooksAtTheServicesState) {
    const auto verdict = [](const UnitFound& unit) {
        Findings findings = healthy();
        (*findings.units)["happed.service"] = unit;
        return check_service(findings);
    };
    EXPECT_EQ(verdict({"not-found", "inactive", ""}).finding, "not installed");
    EXPECT_NE(verdict({"masked", "inactive", "masked"}).advice.find("unmask"), std::string::npos);
    EXPECT_NE(verdict({"loaded", "failed", "enabled"}).advice.find("journalctl"), std::string::npos);
    EXPECT_EQ(verdict({"loaded", "inactive", "enabled"}).advice, "systemctl enable --now happed");
    EXPECT_EQ(verdict({"loaded", "active", "disabled"}).verdict, Verdict::Warn);
    EXPECT_EQ(verdict({"loaded", "active", "enabled"}).verdict, Verdict::Ok);
    EXPECT_EQ(verdict({"loaded", "active", ""}).verdict, Verdict::Unknown);
}

TEST(Doctor, FailsWhereHappeCannotGovernAndSaysWhy) {
    for (const char* const state : {"contested", "failing"}) {
        Findings findings = healthy();
        findings.daemon->state = state;
        findings.daemon->reason = "policy1: Input/output error";
        const Check check = check_daemon(findings);
        EXPECT_EQ(check.verdict, Verdict::Fail) << state;
        EXPECT_NE(check.finding.find("policy1: Input/output error"), std::string::npos);
    }
    EXPECT_EQ(check_daemon(without_daemon()).finding, "happed is not running");
}

TEST(Doctor, LooksForTheKeys) {
    Findings findings = healthy();
    findings.daemon->keyboards = 0;
    EXPECT_EQ(check_keys(findings).verdict, Verdict::Warn);
    EXPECT_NE(check_keys(findings).advice.find("happectl keys learn"), std::string::npos);
    findings.units->erase("happed-keys.socket");
    EXPECT_EQ(check_keys(findings).verdict, Verdict::Warn);  // a desktop's shortcuts need no keys
    EXPECT_NE(check_keys(findings).finding.find("happed-keys.socket is not active"), std::string::npos);
}

TEST(Doctor, CallsNothingOkThatItCannotFindOut) {
    Findings findings = without_daemon();
    findings.units.reset();
    findings.database = findings.found_state = findings.bus_policy = Presence::Unreadable;
    for (const Check& check : {check_service(findings), check_keys(findings), check_database(findings),
                               check_found_state(findings), check_installation(findings), check_rivals(findings)[0]}) {
        EXPECT_EQ(check.verdict, Verdict::Unknown) << check.name;
        EXPECT_NE(check.advice, "") << check.name;
    }
}

TEST(Doctor, NoticesAMachineThatWasNotGivenBack) {
    Findings findings = without_daemon();
    EXPECT_EQ(check_found_state(findings).verdict, Verdict::Ok);
    findings.found_state = Presence::Present;
    EXPECT_EQ(check_found_state(findings).advice, "sudo happectl restore");
    findings.daemon = healthy().daemon;
    EXPECT_EQ(check_found_state(findings).verdict, Verdict::Ok);
}

TEST(Doctor, SaysWhoIsAtTheMachine) {
    Findings findings = healthy();
    EXPECT_EQ(check_session(findings).finding, "seat0 shows alice");
    findings.session = Outcome<SessionFound>(SessionFound{"alice", "user", true});
    EXPECT_EQ(check_session(findings).finding, "seat0 shows alice, locked: HAPPE waits");
    findings.session = Outcome<SessionFound>(SessionFound{"gdm", "greeter", false});
    EXPECT_NE(check_session(findings).finding.find("greeter"), std::string::npos);
    findings.session = Outcome<SessionFound>(trouble(EX_OK, "nobody"));
    EXPECT_EQ(check_session(findings).finding, "nobody is at seat0: HAPPE waits");
    findings.session.reset();
    EXPECT_EQ(check_session(findings).verdict, Verdict::Warn);
}

TEST(Doctor, MissesFilesOfTheInstallation) {
    Findings findings = healthy();
    findings.polkit_actions = Presence::Absent;
    EXPECT_EQ(check_installation(findings).verdict, Verdict::Fail);
    findings.database = Presence::Absent;
    EXPECT_EQ(check_database(findings).verdict, Verdict::Warn);
    findings.daemon = without_daemon().daemon;
    findings.database = Presence::Absent;
    EXPECT_EQ(check_database(findings).verdict, Verdict::Ok);
}

}  // namespace
}  // namespace happe::ctl
