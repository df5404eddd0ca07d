// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/doctor/machine.h"

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <system_error>

namespace happe::ctl {
namespace {

namespace fs = std::filesystem;

const Address kManager{"org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"};
const Address kSeat{"org.freedesktop.login1", "/org/freedesktop/login1/seat/seat0", "org.freedesktop.login1.Seat"};

// The number of "policyN".
std::optional<std::uint32_t> policy_number(const std::string& name) {
    constexpr std::string_view kStart = "policy";
    std::uint32_t number = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with(kStart) || name.size() == kStart.size()) {
        return std::nullopt;
    }
    const auto [stop, error] = std::from_chars(name.data() + kStart.size(), end, number);
    return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// The first line; empty if there is none.
std::string read_line(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

std::vector<std::string> words(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> result;
    for (std::string word; stream >> word;) {
        result.push_back(word);
    }
    return result;
}

}  // namespace

Presence presence(const fs::path& file) {
    struct stat found{};
    if (::stat(file.c_str(), &found) == 0) {
        return Presence::Present;
    }
    return errno == EACCES ? Presence::Unreadable : Presence::Absent;
}

std::vector<PolicyFound> find_policies(const Root& root) {
    std::vector<PolicyFound> policies;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/cpu/cpufreq", error)) {
        if (const auto number = policy_number(entry.path().filename().string())) {
            policies.push_back({*number, read_line(entry.path() / "scaling_driver"),
                                read_line(entry.path() / "scaling_governor"),
                                words(read_line(entry.path() / "scaling_available_governors"))});
        }
    }
    std::ranges::sort(policies, {}, &PolicyFound::policy);
    return policies;
}

void look_at_cpufreq(const Root& root, Findings& findings) {
    findings.policies = find_policies(root);
    findings.intel_pstate = read_line(root / "sys/devices/system/cpu/intel_pstate/status");
}

std::optional<std::map<std::string, UnitFound>> find_units(Bus& bus, const std::vector<std::string>& names) {
    using wire::ObjectPath;
    using Listed = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string, ObjectPath,
                              std::uint32_t, std::string, ObjectPath>;
    const auto listed = bus.call<std::vector<Listed>>(kPrompt, kManager, "ListUnitsByNames", names);
    if (!listed) {
        return std::nullopt;
    }
    std::map<std::string, UnitFound> units;
    for (const Listed& row : *listed) {
        const std::string& name = std::get<0>(row);
        const auto enabled = bus.call<std::string>(kPrompt, kManager, "GetUnitFileState", name);
        units[name] = {std::get<2>(row), std::get<3>(row), enabled.value_or("")};
    }
    return units;
}

std::optional<Outcome<SessionFound>> find_session(Bus& bus) {
    using Active = std::tuple<std::string, wire::ObjectPath>;
    const auto active = bus.property<Active>(kSeat, "ActiveSession");
    if (!active) {
        // Without seat0, nobody can be at the machine. Without logind, the answer is unknown.
        const bool no_seat = active.error().name == "org.freedesktop.DBus.Error.UnknownObject";
        return no_seat ? std::optional<Outcome<SessionFound>>(trouble(EX_OK, "no seat0")) : std::nullopt;
    }
    if (std::get<0>(*active).empty()) {
        return trouble(EX_OK, "nobody");
    }
    const Address session{kSeat.service, std::get<1>(*active).value, "org.freedesktop.login1.Session"};
    const auto name = bus.property<std::string>(session, "Name");
    const auto kind = bus.property<std::string>(session, "Class");
    const auto locked = bus.property<bool>(session, "LockedHint");
    return name && kind && locked ? std::optional<Outcome<SessionFound>>(SessionFound{*name, *kind, *locked})
                                  : std::nullopt;
}

}  // namespace happe::ctl
