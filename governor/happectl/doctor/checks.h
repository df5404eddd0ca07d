// SPDX-License-Identifier: GPL-2.0-or-later
// Judges the findings of happectl doctor. Pure: no input or output.
#pragma once

#include "governor/happectl/bus.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace happe::ctl {

enum class Presence : std::uint8_t { Absent, Unreadable, Present };  // Unreadable: this user may not see it

struct PolicyFound {
    std::uint32_t policy = 0;
    std::string driver;
    std::string governor;
    std::vector<std::string> governors;  // the available governors
};

// A systemd unit.
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
    std::string intel_pstate;  // the driver's status; empty: no such driver
    bool gamemode = false;     // GameMode is installed; each user's systemd starts it

    std::optional<std::map<std::string, UnitFound>> units;  // by name; empty if systemd does not answer
    std::optional<Outcome<SessionFound>> session;           // empty if logind does not answer

    Outcome<Properties> daemon = trouble(EX_UNAVAILABLE, "not asked");
    std::string configuration_mistake;  // empty if it is valid
    bool observe = false;               // the configuration has mode = "observe"

    Presence database = Presence::Absent;
    Presence found_state = Presence::Absent;  // /run/happe/found.json
    Presence bus_policy = Presence::Absent;
    Presence polkit_actions = Presence::Absent;
};

enum class Verdict : std::uint8_t { Ok, Unknown, Warn, Fail };  // Unknown: happectl could not find out

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
std::vector<Check> check_rivals(const Findings& findings);  // one for each other program that governs

std::vector<Check> examine(const Findings& findings);

// The units whose state the checks need.
std::vector<std::string> units_of_interest();

}  // namespace happe::ctl
