// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's state as text and as JSON.
#pragma once

#include "governor/happectl/daemon.h"
#include "governor/happectl/text.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace happe::ctl {

inline constexpr std::size_t kLevels = 10;

// A UAFP as steps: a column for each level, a row for each frequency, fast ones above. `here` is the present level.
// Nothing for a profile that hasn't ten values.
std::string step_chart(const std::vector<std::uint32_t>& profile, const std::vector<std::uint32_t>& ladder,
                       std::optional<std::uint8_t> here, const Style& style);

// Several lines for a person.
std::string status_text(const DaemonState& state, const Style& style);

// A line of it, for a log.
std::string status_line(const DaemonState& state, const Style& style);

nlohmann::ordered_json status_json(const DaemonState& state);

// The ladder with the highest top, which profiles speak; empty if there is none.
std::vector<std::uint32_t> fastest_ladder(const DaemonState& state);

// The text of a setting; empty if there is no such setting.
std::string setting(const DaemonState& state, const std::string& name);

// JSON as it is printed: ASCII only, whatever it holds.
std::string json_text(const nlohmann::ordered_json& value, int indent = 2);

}  // namespace happe::ctl
