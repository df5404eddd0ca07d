// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's state as text and as JSON.
#pragma once

#include "governor/happectl/bus.h"
#include "governor/happectl/text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace happe::ctl {

// The entry of a policy; null if there is none.
template <typename Shown, typename Of>
const Shown* of_policy(const std::vector<Shown>& all, PolicyId policy, Of of) {
    const auto found = std::ranges::find(all, policy, of);
    return found == all.end() ? nullptr : &*found;
}

// A UAFP as steps: a column for each level, a row for each frequency, the highest on top. `here` is the present level.
// The UAFP is in kHz of `ladder`; null if unknown.
std::string step_chart(const Uafp& uafp, const Ladder* ladder, std::optional<Level> here, const Style& style);

// True if happed serves somebody, but hides this user from the caller.
[[nodiscard]] bool hidden(const Properties& state);

// Several lines for a person.
std::string status_text(const Properties& state, const Style& style);

// The same in one line, for a log.
std::string status_line(const Properties& state, const Style& style);

nlohmann::ordered_json status_json(const Properties& state);

// The ladder with the highest top; profiles are in its kHz. Null if there is none.
const Ladder* fastest_ladder(const Properties& state);

// The text of a setting; empty if there is no such setting.
std::string setting(const Properties& state, const std::string& name);

// A value of the configuration.
nlohmann::ordered_json setting_json(const OptionValue& value);

// JSON in ASCII, for output.
std::string json_text(const nlohmann::ordered_json& value, int indent = 2);

}  // namespace happe::ctl
