// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <algorithm>
#include <ranges>
#include <set>

namespace happe::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 20;  // of a chart

// The frequencies a chart has rows for, ascending: the ladder's, as many as fit, and always those of the profile.
std::vector<std::uint32_t> chart_rows(const std::vector<std::uint32_t>& profile,
                                      const std::vector<std::uint32_t>& ladder) {
    std::set<std::uint32_t> rows(profile.begin(), profile.end());
    const std::size_t stride = ladder.size() / kMostRows + 1;
    for (std::size_t entry = 0; entry < ladder.size(); entry += stride) {
        rows.insert(ladder[ladder.size() - 1 - entry]);
    }
    return {rows.begin(), rows.end()};
}

const PolicyActivity* activity_of(const DaemonState& state, std::uint16_t policy) {
    const auto found = std::ranges::find(state.activity, policy, &PolicyActivity::policy);
    return found == state.activity.end() ? nullptr : &*found;
}

// The level of the busiest policy.
std::optional<std::uint8_t> present_level(const DaemonState& state) {
    const auto busiest = std::ranges::max_element(state.activity, {}, &PolicyActivity::level);
    return busiest == state.activity.end() ? std::nullopt : std::optional(busiest->level);
}

std::string position(const PolicyLadder& ladder, std::uint32_t khz) {
    const auto found = std::ranges::find(ladder.khz, khz);
    return found == ladder.khz.end()
               ? gigahertz(khz)
               : fmt::format("{} ({}/{})", gigahertz(khz), found - ladder.khz.begin() + 1, ladder.khz.size());
}

std::string range(const std::vector<std::uint32_t>& ladder) {
    return ladder.empty() ? "-" : fmt::format("{} to {}", gigahertz(ladder.front()), gigahertz(ladder.back()));
}

std::string policies_text(const DaemonState& state, const Style& style) {
    Rows rows = {{"policy", "CPUs", "decided", "ran at", "busiest CPU", "level", "ladder"}};
    for (const PolicyLadder& ladder : state.ladders) {
        const auto target = state.targets.find(ladder.policy);
        const PolicyActivity* const activity = activity_of(state, ladder.policy);
        rows.push_back({std::to_string(ladder.policy), fit(number_list(ladder.cpus), 24),
                        target == state.targets.end() ? "-" : position(ladder, target->second),
                        activity == nullptr ? "-" : gigahertz(activity->khz),
                        activity == nullptr ? "-" : percent(activity->util_ppm),
                        activity == nullptr ? "-" : std::to_string(activity->level), range(ladder.khz)});
    }
    return table(rows, style);
}

std::string served_text(const DaemonState& state, const Style& style) {
    if (state.hidden()) {
        return "not shown (another user's, or a blind run)";
    }
    return state.user.empty()
               ? "nobody"
               : fmt::format("{}, {}", printable(state.user, style), printable(state.application, style));
}

std::string state_text(const DaemonState& state, const Style& style) {
    const std::string what = fmt::format("{} ({})", printable(state.state, style), printable(state.backend, style));
    return state.reason.empty() ? what : fmt::format("{}: {}", what, printable(state.reason, style));
}

std::string keys_text(const DaemonState& state, const Style& style) {
    const auto name = [&](const char* key) {
        const std::string text = setting(state, key);
        return text.empty() ? "?" : printable(text, style);
    };
    const std::string keyboards =
        state.keyboards == 0 ? "on no keyboard: happectl keys learn"
                             : fmt::format("on {} keyboard{}", state.keyboards, state.keyboards == 1 ? "" : "s");
    return fmt::format("faster {}, save power {}; {}", name("keys.performance"), name("keys.power"), keyboards);
}

std::string holds_text(const DaemonState& state, const Style& style) {
    std::string text;
    for (const auto& [application, reason] : state.holds) {
        text += fmt::format("{}{}", text.empty() ? "" : "; ", printable(application, style));
        text += reason.empty() ? "" : fmt::format(" ({})", printable(reason, style));
    }
    return text.empty() ? "none" : text;
}

std::string field(std::string_view name, const std::string& value, const Style& style) {
    return fit(fmt::format("{:<9}{}", name, value), style.columns) + '\n';
}

Json known(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

Json policies_json(const DaemonState& state) {
    Json policies = Json::array();
    for (const PolicyLadder& ladder : state.ladders) {
        const auto target = state.targets.find(ladder.policy);
        const PolicyActivity* const activity = activity_of(state, ladder.policy);
        policies.push_back({{"policy", ladder.policy},
                            {"cpus", ladder.cpus},
                            {"ladder_khz", ladder.khz},
                            {"target_khz", target == state.targets.end() ? Json() : Json(target->second)},
                            {"khz", activity == nullptr ? Json() : Json(activity->khz)},
                            {"util_ppm", activity == nullptr ? Json() : Json(activity->util_ppm)},
                            {"level", activity == nullptr ? Json() : Json(activity->level)}});
    }
    return policies;
}

std::string chart_line(const std::vector<std::uint32_t>& profile, std::uint32_t row, const Style& style) {
    const char* const step = style.unicode ? "\u2501\u2501\u2501" : "===";
    std::string line = fmt::format("{:>9} {}", gigahertz(row), style.unicode ? "\u2502" : "|");
    for (const std::uint32_t khz : profile) {
        line += khz == row ? step : "   ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return fit(line, style.columns) + '\n';
}

}  // namespace

std::string step_chart(const std::vector<std::uint32_t>& profile, const std::vector<std::uint32_t>& ladder,
                       std::optional<std::uint8_t> here, const Style& style) {
    if (profile.size() != kLevels) {
        return "";
    }
    std::string chart;
    for (const std::uint32_t row : chart_rows(profile, ladder) | std::views::reverse) {
        chart += chart_line(profile, row, style);
    }
    std::string levels(11, ' ');
    for (std::size_t level = 0; level < kLevels; ++level) {
        levels += level == here ? fmt::format("[{}]", level) : fmt::format(" {} ", level);
    }
    return chart + fit(levels + " level", style.columns) + '\n';
}

std::vector<std::uint32_t> fastest_ladder(const DaemonState& state) {
    const auto top = [](const PolicyLadder& ladder) { return ladder.khz.empty() ? 0 : ladder.khz.back(); };
    const auto fastest = std::ranges::max_element(state.ladders, {}, top);
    return fastest == state.ladders.end() ? std::vector<std::uint32_t>() : fastest->khz;
}

std::string setting(const DaemonState& state, const std::string& name) {
    const auto found = state.settings.find(name);
    if (found == state.settings.end() || found->second.is_null()) {
        return "";
    }
    return found->second.is_string() ? found->second.get<std::string>() : found->second.dump();
}

std::string status_text(const DaemonState& state, const Style& style) {
    std::string text = field("HAPPE", printable(state.version, style) + "  " + state_text(state, style), style) +
                       field("serving", served_text(state, style), style) +
                       field("keys", keys_text(state, style), style) + field("holds", holds_text(state, style), style) +
                       field("run", state.run.empty() ? "none" : printable(state.run, style), style) + '\n' +
                       policies_text(state, style);
    if (!state.profile.empty()) {
        text +=
            fit(fmt::format("\nUAFP of {}", served_text(state, style)), style.columns + (style.columns > 0 ? 1 : 0)) +
            '\n' + step_chart(state.profile, fastest_ladder(state), present_level(state), style);
    }
    return text;
}

std::string status_line(const DaemonState& state, const Style& style) {
    std::string line = fmt::format("{}  {}", state_text(state, style), served_text(state, style));
    for (const PolicyActivity& activity : state.activity) {
        const auto target = state.targets.find(activity.policy);
        line += fmt::format("  policy {}: {}, {}, level {}", activity.policy, gigahertz(activity.khz),
                            percent(activity.util_ppm), activity.level);
        line += target == state.targets.end() ? "" : fmt::format(", decided {}", gigahertz(target->second));
    }
    return line + '\n';
}

nlohmann::ordered_json status_json(const DaemonState& state) {
    Json holds = Json::array();
    for (const auto& [application, reason] : state.holds) {
        holds.push_back({{"application", application}, {"reason", reason}});
    }
    return {{"version", state.version},
            {"backend", state.backend},
            {"state", state.state},
            {"reason", known(state.reason)},
            {"hidden", state.hidden()},
            {"user", known(state.user)},
            {"application", known(state.application)},
            {"profile_khz", state.profile.empty() ? Json() : Json(state.profile)},
            {"policies", policies_json(state)},
            {"keyboards", state.keyboards},
            {"holds", holds},
            {"run", known(state.run)},
            {"settings", state.settings}};
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
    return value.dump(indent, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace happe::ctl
