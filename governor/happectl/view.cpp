// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/view.h"

#include "governor/documents/json_document.h"
#include "governor/documents/printable.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>

namespace happe {

// For nlohmann::json, which finds these by their arguments.
static void to_json(nlohmann::ordered_json& json, PolicyId policy) {
    json = policy.value;
}
static void to_json(nlohmann::ordered_json& json, const ShownHold& hold) {
    json = {{"application", hold.application}, {"reason", hold.reason}};
}

}  // namespace happe

namespace happe::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 20;  // of a chart

// The frequencies of a chart's rows, ascending: always those of the profile, and as many of the ladder's as fit.
std::set<Khz> chart_rows(const Uafp& uafp, const Ladder* ladder) {
    std::set<Khz> rows(uafp.values().begin(), uafp.values().end());
    const std::size_t steps = ladder == nullptr ? 0 : ladder->size();
    for (std::size_t below_top = 0; below_top < steps; below_top += steps / kMostRows + 1) {
        rows.insert((*ladder)[steps - 1 - below_top]);
    }
    return rows;
}

const Target* target_of(const Properties& state, PolicyId policy) {
    return of_policy(state.targets, policy, &Target::policy);
}
const SampledPolicy* sample_of(const Properties& state, PolicyId policy) {
    return of_policy(state.sample, policy, &SampledPolicy::policy);
}

// The level of the busiest policy.
std::optional<Level> present_level(const Properties& state) {
    const auto busiest = std::ranges::max_element(state.sample, {}, &SampledPolicy::level);
    return busiest == state.sample.end() ? std::nullopt : std::optional(busiest->level);
}

std::string position(const Ladder& ladder, Khz khz) {
    const auto steps = ladder.khz();
    const auto found = std::ranges::find(steps, khz);
    return found == steps.end() ? gigahertz(khz)
                                : fmt::format("{} ({}/{})", gigahertz(khz), found - steps.begin() + 1, steps.size());
}

std::string policies_text(const Properties& state, const Style& style) {
    Rows rows = {{"policy", "CPUs", "decided", "ran at", "busiest CPU", "level", "ladder"}};
    for (const auto& [id, cpus, ladder] : state.policies) {
        const Target* const target = target_of(state, id);
        const SampledPolicy* const sample = sample_of(state, id);
        rows.push_back({std::to_string(id.value), fit(number_list(cpus), 24),
                        target == nullptr ? "-" : position(ladder, target->khz),
                        sample == nullptr ? "-" : gigahertz(sample->current),
                        sample == nullptr ? "-" : percent(sample->utilisation),
                        sample == nullptr ? "-" : std::to_string(sample->level.value),
                        fmt::format("{} to {}", gigahertz(ladder.lowest()), gigahertz(ladder.top()))});
    }
    return table(rows, style);
}

std::string served_text(const Properties& state, const Style& style) {
    if (hidden(state)) {
        return "not shown (another user's, or a blind run)";
    }
    return state.user.empty()
               ? "nobody"
               : fmt::format("{}, {}", printable(state.user, style), printable(state.application, style));
}

std::string state_text(const Properties& state, const Style& style) {
    const std::string what = fmt::format("{} ({})", printable(state.state, style), printable(state.backend, style));
    return state.reason.empty() ? what : fmt::format("{}: {}", what, printable(state.reason, style));
}

std::string keys_text(const Properties& state, const Style& style) {
    const auto name = [&](const char* key) {
        const std::string text = setting(state, key);
        return text.empty() ? "?" : printable(text, style);
    };
    const std::string keyboards =
        state.keyboards == 0 ? "on no keyboard: happectl keys learn"
                             : fmt::format("on {} keyboard{}", state.keyboards, state.keyboards == 1 ? "" : "s");
    return fmt::format("faster {}, save power {}; {}", name("keys.performance"), name("keys.power"), keyboards);
}

std::string holds_text(const std::vector<ShownHold>& holds, const Style& style) {
    std::string text;
    for (const auto& [application, reason] : holds) {
        text += fmt::format("{}{}", text.empty() ? "" : "; ", printable(application, style));
        text += reason.empty() ? "" : fmt::format(" ({})", printable(reason, style));
    }
    return text.empty() ? "none" : text;
}

// Lists policies with the same limits together.
std::string limits_text(const Properties& state) {
    std::map<std::pair<Khz, Khz>, std::vector<std::uint32_t>> policies;
    for (const PolicyLimits& limits : state.limits) {
        policies[{limits.least, limits.most}].push_back(limits.policy.value);
    }
    std::string text;
    for (const auto& [range, numbers] : policies) {
        text += fmt::format("{}policy {} from {} to {}", text.empty() ? "" : "; ", number_list(numbers),
                            gigahertz(range.first), gigahertz(range.second));
    }
    return text.empty() ? "none" : text + ", by another program or the kernel";
}

std::string errors_text(const Properties& state, const Style& style) {
    std::string text;
    for (const ShownError& error : state.errors) {
        text += fit(fmt::format("policy {} is not governed: {}", error.policy.value, printable(error.message, style)),
                    style.columns) +
                '\n';
    }
    return text;
}

// Never cut, because readers need the numbers at its end.
std::string database_text(const Properties& state, const Style& style) {
    return state.database.empty() ? std::string() : "\n" + printable(state.database, style) + '\n';
}

std::string field(std::string_view name, const std::string& value, const Style& style) {
    return fit(fmt::format("{:<9}{}", name, value), style.columns) + '\n';
}

std::string savers_text(const Properties& state, const Style& style) {
    return state.savers.empty() ? "" : field("lower", holds_text(state.savers, style), style);
}

std::string domains_text(const Properties& state, const Style& style) {
    const bool together = state.domains.size() == 1;
    return state.policies.size() > 1 ? field("levels", together ? "one for all policies" : "one for each policy", style)
                                     : "";
}

// Empty on a machine without a battery, a preference and power profiles.
std::string power_text(const Properties& state, const Style& style) {
    std::string text = state.source.empty() ? "" : "on " + printable(state.source, style);
    if (!state.epp.empty()) {
        text +=
            fmt::format("{}energy performance preference {}", text.empty() ? "" : "; ", printable(state.epp, style));
    }
    if (!state.power_profile.empty()) {
        text += fmt::format("{}power profile {}, whose daemon sets the energy performance preference",
                            text.empty() ? "" : "; ", printable(state.power_profile, style));
    }
    return text.empty() ? text : field("power", text, style);
}

Json known(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

Json policies_json(const Properties& state) {
    Json policies = Json::array();
    for (const auto& [id, cpus, ladder] : state.policies) {
        const Target* const target = target_of(state, id);
        const SampledPolicy* const sample = sample_of(state, id);
        const PolicyLimits* const limits = of_policy(state.limits, id, &PolicyLimits::policy);
        const ShownError* const error = of_policy(state.errors, id, &ShownError::policy);
        policies.push_back(
            {{"policy", id.value},
             {"cpus", cpus},
             {"ladder_khz", numbers(ladder.khz())},
             {"target_khz", target == nullptr ? Json() : Json(target->khz.value)},
             {"khz", sample == nullptr ? Json() : Json(sample->current.value)},
             {"util_ppm", sample == nullptr ? Json() : Json(sample->utilisation.value)},
             {"level", sample == nullptr ? Json() : Json(sample->level.value)},
             {"limits_khz", limits == nullptr ? Json() : Json({limits->least.value, limits->most.value})},
             {"error", error == nullptr ? Json() : Json(error->message)}});
    }
    return policies;
}

struct SettingJson {
    Json operator()(const auto& value) const { return value; }
    Json operator()(const Calibration& value) const {
        Json frequencies = Json::object();
        for (const auto& [listed, real] : value) {
            frequencies[std::to_string(listed.value)] = real.value;
        }
        return frequencies;
    }
};

Json settings_json(const Properties& state) {
    Json settings = Json::object();
    for (const auto& [name, value] : state.settings) {
        settings[name] = setting_json(value);
    }
    return settings;
}

std::string chart_line(const Uafp& uafp, Khz row, const Style& style) {
    const char* const step = style.unicode ? "\u2501\u2501\u2501" : "===";
    std::string line = fmt::format("{:>9} {}", gigahertz(row), style.unicode ? "\u2502" : "|");
    for (const Khz khz : uafp.values()) {
        line += khz == row ? step : "   ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return fit(line, style.columns) + '\n';
}

}  // namespace

bool hidden(const Properties& state) {
    constexpr std::array kServing{"governing", "observing", "failing", "run"};
    return state.user.empty() && std::ranges::find(kServing, state.state) != kServing.end();
}

std::string step_chart(const Uafp& uafp, const Ladder* ladder, std::optional<Level> here, const Style& style) {
    std::string chart;
    for (const Khz row : chart_rows(uafp, ladder) | std::views::reverse) {
        chart += chart_line(uafp, row, style);
    }
    std::string levels(11, ' ');
    for (std::uint8_t level = 0; level < Uafp::kLevels; ++level) {
        levels += Level{level} == here ? fmt::format("[{}]", level) : fmt::format(" {} ", level);
    }
    return chart + fit(levels + " level", style.columns) + '\n';
}

const Ladder* fastest_ladder(const Properties& state) {
    const auto fastest =
        std::ranges::max_element(state.policies, {}, [](const Policy& policy) { return policy.ladder.top(); });
    return fastest == state.policies.end() ? nullptr : &fastest->ladder;
}

std::string setting(const Properties& state, const std::string& name) {
    const auto found = state.settings.find(name);
    const auto* const text = found == state.settings.end() ? nullptr : std::get_if<std::string>(&found->second);
    return text == nullptr ? std::string() : *text;
}

std::string status_text(const Properties& state, const Style& style) {
    std::string text =
        field("HAPPE", printable(state.version, style) + "  " + state_text(state, style), style) +
        field("serving", served_text(state, style), style) + field("keys", keys_text(state, style), style) +
        field("mode", printable(setting(state, "algorithm.mode"), style), style) +
        field("holds", holds_text(state.holds, style), style) + savers_text(state, style) +
        field("run", state.run.empty() ? "none" : printable(state.run, style), style) + domains_text(state, style) +
        power_text(state, style) + field("limits", limits_text(state), style) + '\n' + policies_text(state, style) +
        errors_text(state, style) + database_text(state, style);
    if (state.profile) {
        text +=
            fit(fmt::format("\nUAFP of {}", served_text(state, style)), style.columns + (style.columns > 0 ? 1 : 0)) +
            '\n' + step_chart(*state.profile, fastest_ladder(state), present_level(state), style);
    }
    return text;
}

std::string status_line(const Properties& state, const Style& style) {
    std::string line = fmt::format("{}  {}", state_text(state, style), served_text(state, style));
    for (const SampledPolicy& sample : state.sample) {
        const Target* const target = target_of(state, sample.policy);
        line += fmt::format("  policy {}: {}, {}, level {}", sample.policy.value, gigahertz(sample.current),
                            percent(sample.utilisation), sample.level.value);
        line += target == nullptr ? "" : fmt::format(", decided {}", gigahertz(target->khz));
    }
    return line + '\n';
}

nlohmann::ordered_json status_json(const Properties& state) {
    return {{"version", state.version},
            {"backend", state.backend},
            {"state", state.state},
            {"reason", known(state.reason)},
            {"hidden", hidden(state)},
            {"user", known(state.user)},
            {"application", known(state.application)},
            {"profile_khz", state.profile ? numbers(state.profile->values()) : Json()},
            {"policies", policies_json(state)},
            {"domains", state.domains},
            {"database", known(state.database)},
            {"keyboards", state.keyboards},
            {"holds", state.holds},
            {"savers", state.savers},
            {"run", known(state.run)},
            {"source", known(state.source)},
            {"epp", known(state.epp)},
            {"power_profile", known(state.power_profile)},
            {"settings", settings_json(state)}};
}

nlohmann::ordered_json setting_json(const OptionValue& value) {
    return std::visit(SettingJson(), value);
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
    return value.dump(indent, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace happe::ctl
