// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/configuration.h"

#include "governor/documents/run_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>

namespace happe {
namespace {

using Milliseconds = std::chrono::milliseconds;

std::string word(std::string_view first, std::string_view second, bool is_second) {
    return std::string(is_second ? second : first);
}

std::uint32_t in_milliseconds(Micros period) {
    return static_cast<std::uint32_t>(std::chrono::duration_cast<Milliseconds>(period).count());
}

bool is(const OptionValue& value, std::string_view word) {
    return std::get<std::string>(value) == word;
}

std::string epp_or_leave(const std::string& epp) {
    return epp.empty() ? "leave" : epp;
}

std::string epp_of(const OptionValue& value) {
    return is(value, "leave") ? std::string() : std::get<std::string>(value);
}

const AcceptsWord kAcceptsEpp{{"leave", kEpps[0], kEpps[1], kEpps[2], kEpps[3]}};

const std::array kOptions{
    ConfigurationOption{
        .name = "mode",
        .accepts = AcceptsWord{{"govern", "observe"}},
        .description = "Whether to set frequencies, or only to decide and show the decisions.",
        .example = "\"observe\"",
        .get = [](const Configuration& c) -> OptionValue { return word("govern", "observe", c.observe); },
        .set = [](Configuration& c, const OptionValue& value) { c.observe = is(value, "observe"); },
    },
    ConfigurationOption{
        .name = "feedback",
        .accepts = AcceptsWord{{"immediate", "next-sample"}},
        .description = "When HAPPE acts on a press: at once, or at the end of the period as in the paper.",
        .example = "\"next-sample\"",
        .get = [](const Configuration& c) -> OptionValue { return word("next-sample", "immediate", c.immediate); },
        .set = [](Configuration& c, const OptionValue& value) { c.immediate = is(value, "immediate"); },
    },
    ConfigurationOption{
        .name = "period_ms",
        .accepts = AcceptsNumber{100, 10'000},
        .description =
            "How long happed measures utilisation before each decision, in milliseconds. The paper uses 1000.",
        .example = "500",
        .get = [](const Configuration& c) -> OptionValue { return in_milliseconds(c.period); },
        .set = [](Configuration& c,
                  const OptionValue& value) { c.period = Milliseconds(std::get<std::uint32_t>(value)); },
    },
    ConfigurationOption{
        .name = "domains",
        .accepts = AcceptsWord{{"all", "policy"}},
        .description =
            "Whether all CPUs share one level, since work moves between them, or each policy has its own level.",
        .example = "\"policy\"",
        .get = [](const Configuration& c) -> OptionValue { return word("all", "policy", !c.together); },
        .set = [](Configuration& c, const OptionValue& value) { c.together = is(value, "all"); },
    },
    ConfigurationOption{
        .name = "ladder_steps",
        .accepts = AcceptsNumber{2, 32},
        .description = "How many frequencies HAPPE uses if the driver lists none. Each press goes one step.",
        .example = "16",
        .get = [](const Configuration& c) -> OptionValue { return c.ladder_steps; },
        .set = [](Configuration& c, const OptionValue& value) { c.ladder_steps = std::get<std::uint32_t>(value); },
    },
    ConfigurationOption{
        .name = "mains.govern",
        .accepts = AcceptsBool{},
        .description = "Whether HAPPE governs while the laptop is plugged in, or steps aside until it runs on its "
                       "battery.",
        .example = "false",
        .get = [](const Configuration& c) -> OptionValue { return c.govern_on_mains; },
        .set = [](Configuration& c, const OptionValue& value) { c.govern_on_mains = std::get<bool>(value); },
    },
    ConfigurationOption{
        .name = "mains.own_profiles",
        .accepts = AcceptsBool{},
        .description = "Whether each application has a profile of its own on mains. It begins as a copy of the one on "
                       "battery, and each of the two learns on its own.",
        .example = "true",
        .get = [](const Configuration& c) -> OptionValue { return c.own_profiles_on_mains; },
        .set = [](Configuration& c, const OptionValue& value) { c.own_profiles_on_mains = std::get<bool>(value); },
    },
    ConfigurationOption{
        .name = "mains.epp",
        .accepts = kAcceptsEpp,
        .description =
            "The energy performance preference that HAPPE sets while it governs a laptop that is plugged in, "
            "or a computer without a battery. This preference tells the "
            "processor how to weigh saving against speed.",
        .example = "\"balance_performance\"",
        .get = [](const Configuration& c) -> OptionValue { return epp_or_leave(c.mains_epp); },
        .set = [](Configuration& c, const OptionValue& value) { c.mains_epp = epp_of(value); },
    },
    ConfigurationOption{
        .name = "battery.epp",
        .accepts = kAcceptsEpp,
        .description = "The energy performance preference that HAPPE sets while it governs a laptop on its battery.",
        .example = "\"power\"",
        .get = [](const Configuration& c) -> OptionValue { return epp_or_leave(c.battery_epp); },
        .set = [](Configuration& c, const OptionValue& value) { c.battery_epp = epp_of(value); },
    },
    ConfigurationOption{
        .name = "keys.performance",
        .accepts = AcceptsKey{},
        .description = "The key that asks for more speed, by its name in the kernel. Modifiers come before it.",
        .example = "\"LEFTCTRL+KEY_F12\"",
        .get = [](const Configuration& c) -> OptionValue { return c.performance_key; },
        .set = [](Configuration& c, const OptionValue& value) { c.performance_key = std::get<std::string>(value); },
    },
    ConfigurationOption{
        .name = "keys.power",
        .accepts = AcceptsKey{},
        .description = "The key that asks to save power. It must differ from keys.performance.",
        .example = "\"LEFTCTRL+KEY_F11\"",
        .get = [](const Configuration& c) -> OptionValue { return c.power_key; },
        .set = [](Configuration& c, const OptionValue& value) { c.power_key = std::get<std::string>(value); },
    },
    ConfigurationOption{
        .name = "algorithm.mode",
        .accepts = AcceptsWord{{"paper", "extended"}},
        .description =
            "Whether to keep to the paper's algorithm, or also to start in the middle of the ladder, to hold "
            "a level for two minutes, and to try less by itself.",
        .example = "\"extended\"",
        .get = [](const Configuration& c) -> OptionValue { return word("paper", "extended", c.algorithm.extended); },
        .set =
            [](Configuration& c, const OptionValue& value) {
                const bool warm_start = c.algorithm.warm_start;
                c.algorithm = is(value, "extended") ? kExtended : Settings{};
                c.algorithm.warm_start = warm_start;
            },
    },
    ConfigurationOption{
        .name = "algorithm.warm_start",
        .accepts = AcceptsBool{},
        .description = "Whether an application that is new to a user starts from the user's other applications.",
        .example = "true",
        .extended = true,
        .get = [](const Configuration& c) -> OptionValue { return c.algorithm.warm_start; },
        .set = [](Configuration& c, const OptionValue& value) { c.algorithm.warm_start = std::get<bool>(value); },
    },
    ConfigurationOption{
        .name = "algorithm.floor_percent",
        .accepts = AcceptsNumber{0, 100},
        .description =
            "The part of the highest frequency, in percent, below which HAPPE tries nothing by itself, where the "
            "driver names no efficient frequency. Key presses go lower.",
        .example = "30",
        .extended = true,
        .get = [](const Configuration& c) -> OptionValue { return c.floor_percent; },
        .set = [](Configuration& c, const OptionValue& value) { c.floor_percent = std::get<std::uint32_t>(value); },
    },
    ConfigurationOption{
        .name = "algorithm.idle_hint_minutes",
        .accepts = AcceptsNumber{1, 60},
        .description =
            "How long at most nobody uses keyboard and pointer before the desktop tells logind. HAPPE keeps what "
            "it tries only after this time, unless the session agent sees the input.",
        .example = "5",
        .extended = true,
        .get = [](const Configuration& c) -> OptionValue {
            return static_cast<std::uint32_t>(c.hint_delay / std::chrono::minutes{1});
        },
        .set = [](Configuration& c,
                  const OptionValue& value) { c.hint_delay = std::chrono::minutes{std::get<std::uint32_t>(value)}; },
    },
    ConfigurationOption{
        .name = "calibration",
        .accepts = AcceptsCalibration{},
        .description =
            "The real speed, in kHz, of frequencies that the driver lists as another number. acpi-cpufreq lists turbo as "
            "1 MHz above the nominal frequency.",
        .example = "{ 2201000 = 2300000 }",
        .get = [](const Configuration& c) -> OptionValue { return c.calibration; },
        .set = [](Configuration& c, const OptionValue& value) { c.calibration = std::get<Calibration>(value); },
    },
};

struct InToml {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::uint32_t value) const { return std::to_string(value); }
    std::string operator()(const std::string& value) const {
        std::string quoted = "\"";
        for (const char byte : value) {
            quoted += byte == '"' || byte == '\\' ? std::string{'\\', byte} : std::string(1, byte);
        }
        return quoted + '"';
    }
    std::string operator()(const Calibration& value) const {
        std::vector<std::string> entries;
        for (const auto& [listed, real] : value) {
            entries.push_back(fmt::format("{} = {}", listed.value, real.value));
        }
        return entries.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(entries, ", "));
    }
};

struct InWords {
    std::string operator()(const AcceptsBool&) const { return "true or false"; }
    std::string operator()(const AcceptsNumber& accepts) const {
        return fmt::format("{} to {}", accepts.least, accepts.most);
    }
    std::string operator()(const AcceptsWord& accepts) const {
        const auto but_last = std::span(accepts.words).first(accepts.words.size() - 1);
        return fmt::format("\"{}\" or \"{}\"", fmt::join(but_last, "\", \""), accepts.words.back());
    }
    std::string operator()(const AcceptsKey&) const { return "the name of a key, 1 to 64 characters of ASCII"; }
    std::string operator()(const AcceptsCalibration&) const {
        return fmt::format("a table of 0 to {} frequencies in kHz, both columns ascending", Ladder::kMaxSteps);
    }
};

}  // namespace

std::span<const ConfigurationOption> configuration_options() {
    return kOptions;
}

std::string in_toml(const OptionValue& value) {
    return std::visit(InToml(), value);
}

std::string in_words(const Accepts& accepts) {
    return std::visit(InWords(), accepts);
}

std::vector<std::pair<std::string_view, OptionValue>> describe_settings(const Configuration& configuration) {
    std::vector<std::pair<std::string_view, OptionValue>> settings;
    settings.reserve(kOptions.size());
    for (const ConfigurationOption& option : kOptions) {
        settings.emplace_back(option.name, option.get(configuration));
    }
    return settings;
}

}  // namespace happe
