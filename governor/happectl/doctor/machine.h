// SPDX-License-Identifier: GPL-2.0-or-later
// Finds out about this machine without the daemon.
#pragma once

#include "governor/happectl/bus.h"
#include "governor/happectl/doctor/checks.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace happe::ctl {

// The directory below which happectl looks for files; "/" except in tests.
using Root = std::filesystem::path;

std::vector<PolicyFound> find_policies(const Root& root);  // by number
void look_at_cpufreq(const Root& root, Findings& findings);
Presence presence(const std::filesystem::path& file);

std::optional<std::map<std::string, UnitFound>> find_units(Bus& bus, const std::vector<std::string>& names);
std::optional<Outcome<SessionFound>> find_session(Bus& bus);

inline const std::filesystem::path kConfigurationFile = "etc/happe/happe.toml";           // below a Root, like this
inline const std::filesystem::path kShippedConfiguration = "usr/share/happe/happe.toml";  // every option, as a comment
inline const std::filesystem::path kFoundState = "run/happe/found.json";

}  // namespace happe::ctl
