// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's configuration, /etc/happe/happe.toml: docs/configuration.md.
//
// configuration_options() is the one place that names an option, its limits and what it does. The reader, the settings
// shown to people, docs/configuration.md, packaging/happe.toml and the man page follow it.
#pragma once

#include "governor/core/governor.h"
#include "governor/core/result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace happe {

// The real speed of frequencies that the driver lists under another name (Ladder).
using Calibration = std::map<Khz, Khz>;

struct Configuration {
    bool observe = false;   // decide and show, write nothing
    bool immediate = true;  // act on a press at once, not at the end of the period
    Micros period = std::chrono::seconds{1};
    bool together = true;             // all policies are one domain, else each is its own
    std::uint32_t ladder_steps = 10;  // of a driver that lists no frequencies
    bool govern_on_mains = true;
    bool own_profiles_on_mains = false;
    std::string mains_epp;  // one of kEpps; empty: leave it
    std::string battery_epp;
    std::string performance_key = "KEY_PROG1";
    std::string power_key = "KEY_PROG2";
    bool extended = false;  // if not, `algorithm` is the paper's
    Settings algorithm;
    Calibration calibration;
    std::vector<std::string> obsolete;  // a line "NAME: OPTION: message" for each option that only earlier versions had
    bool operator==(const Configuration&) const = default;
};

// An option's value: true or false, a number, a string, or the table of calibrated frequencies.
using OptionValue = std::variant<bool, std::uint32_t, std::string, Calibration>;

// What an option takes.
struct AcceptsBool {};
struct AcceptsNumber {
    std::uint32_t least;
    std::uint32_t most;
};
struct AcceptsWord {
    std::vector<std::string_view> words;
};
struct AcceptsKey {};  // 1 to 64 printable ASCII characters that the KeyCheck likes
struct AcceptsCalibration {};
using Accepts = std::variant<AcceptsBool, AcceptsNumber, AcceptsWord, AcceptsKey, AcceptsCalibration>;

struct ConfigurationOption {
    std::string_view name;  // dotted: "keys.performance" is `performance` in the table [keys]
    Accepts accepts;
    std::string_view description;  // sentences
    std::string_view example;      // a value as it is written in the file
    bool extended;                 // only with algorithm.mode = "extended"
    OptionValue (*get)(const Configuration&);
    void (*set)(Configuration&, const OptionValue&);
};

// In the order in which they are documented.
[[nodiscard]] std::span<const ConfigurationOption> configuration_options();

// For people and documents: `"govern"`, `1000`; `100 to 10000`, `"govern" or "observe"`.
[[nodiscard]] std::string in_toml(const OptionValue& value);
[[nodiscard]] std::string in_words(const Accepts& accepts);

// Whether a key can be bound; if not, why.
using KeyCheck = std::function<Status(std::string_view)>;

// Reads a file's text; `name` is how errors call the file. The error has a line "NAME:LINE: OPTION: message" for each
// mistake, by line, twenty at most; of text that is not TOML the first mistake.
[[nodiscard]] Result<Configuration> read_configuration(std::string_view text, std::string_view name,
                                                       const KeyCheck& can_be_bound = {});

// Every option by its dotted name, in the documented order.
[[nodiscard]] std::vector<std::pair<std::string_view, OptionValue>> describe_settings(const Configuration&);

}  // namespace happe
