// SPDX-License-Identifier: GPL-2.0-or-later
// What happectl doctor thinks of what it finds. Pure: findings in, verdicts out.
#pragma once

#include "governor/happectl/daemon_proxy.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace happe::ctl {

enum class Presence : std::uint8_t { Absent, Unreadable, Present };  // Unreadable: not for this user to see

struct PolicyFound {
    std::uint32_t policy = 0;
    std::string driver;
    std::string governor;
    std::vector<std::string> governors;  // those that can be chosen
    bool has_preference = false;         // the driver has an energy performance preference
};

// A unit of systemd's.
struct UnitFound {
    std::string load;     // "loaded", "not-found", "masked"
    std::string active;   // "active", "inactive", "failed"
    std::string enabled;  // "enabled", "disabled", "static"; empty if unknown
};

// The session that seat0 shows.
struct SessionFound {
    std::string user;
    std::string kind;  // "user", "greeter"
    bool locked = false;
};

struct Findings {
    std::vector<PolicyFound> policies;
    std::string intel_pstate;  // its status; empty if there is none
    std::string amd_pstate;
    bool gamemode = false;  // installed; a user's own systemd starts it

    std::optional<std::map<std::string, UnitFound>> units;  // by name; nothing if systemd doesn't answer
    std::optional<Outcome<SessionFound>> session;           // nothing if logind doesn't answer

    Outcome<Properties> daemon = trouble(EX_UNAVAILABLE, "not asked");
    std::string configuration_mistake;  // empty if it's valid
    bool observe = false;               // the configuration says so

    Presence database = Presence::Absent;
    Presence found_state = Presence::Absent;  // /run/happe/found.json
    Presence bus_policy = Presence::Absent;
    Presence polkit_actions = Presence::Absent;
};

enum class Verdict : std::uint8_t { Ok, Unknown, Warn, Fail };  // Unknown: nobody here could say

struct Check {
    std::string name;
    Verdict verdict = Verdict::Ok;
    std::string finding;
    std::string advice;  // empty if there is nothing to do
};

Check check_cpufreq(const Findings& findings);
Check check_backend(const Findings& findings);
Check check_service(const Findings& findings);
Check check_daemon(const Findings& findings);
Check check_keys(const Findings& findings);
Check check_configuration(const Findings& findings);
Check check_session(const Findings& findings);
Check check_database(const Findings& findings);
Check check_found_state(const Findings& findings);
Check check_installation(const Findings& findings);
std::vector<Check> check_rivals(const Findings& findings);  // one for each program that governs too

std::vector<Check> examine(const Findings& findings);

// The units whose state the checks want.
std::vector<std::string> units_of_interest();

}  // namespace happe::ctl
