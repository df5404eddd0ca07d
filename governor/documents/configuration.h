// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's configuration, /etc/happe/happe.toml: docs/configuration.md.
//
// Only configuration_options() names the options, their limits and effects. The reader, the displayed settings,
// docs/configuration.md and packaging/happe.toml follow it.
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
    bool together = true;             // all policies are one domain; otherwise each policy is one
    std::uint32_t ladder_steps = 10;  // if the driver lists no frequencies
    bool govern_on_mains = true;
    bool own_profiles_on_mains = false;
    std::string mains_epp;  // one of kEpps; empty: leave it unchanged
    std::string battery_epp;
    std::string performance_key = "KEY_PROG1";
    std::string power_key = "KEY_PROG2";
    Settings algorithm;
    std::uint32_t floor_percent = 25;              // of the top: probes go no lower
    Micros hint_delay = std::chrono::minutes{15};  // after which desktops set logind's idle hint
    Calibration calibration;
    bool operator==(const Configuration&) const = default;
};

// An option's value: true or false, a number, a string, or the table of calibrated frequencies.
using OptionValue = std::variant<bool, std::uint32_t, std::string, Calibration>;

// The values that an option accepts.
struct AcceptsBool {};
struct AcceptsNumber {
    std::uint32_t least;
    std::uint32_t most;
};
struct AcceptsWord {
    std::vector<std::string_view> words;
};
struct AcceptsKey {};  // 1 to 64 printable ASCII characters that the KeyCheck accepts
struct AcceptsCalibration {};
using Accepts = std::variant<AcceptsBool, AcceptsNumber, AcceptsWord, AcceptsKey, AcceptsCalibration>;

struct ConfigurationOption {
    std::string_view name;  // dotted: "keys.performance" is `performance` in the table [keys]
    Accepts accepts;
    std::string_view description;  // sentences
    std::string_view example;      // a value as in the file
    bool extended = false;         // allowed only with algorithm.mode = "extended"
    OptionValue (*get)(const Configuration&);
    void (*set)(Configuration&, const OptionValue&);
};

// All options, in the order of the documentation.
[[nodiscard]] std::span<const ConfigurationOption> configuration_options();

// Texts for people and documents. A value: `"govern"`, `1000`. Accepted values: `100 to 10000`, `"govern" or
// "observe"`.
[[nodiscard]] std::string in_toml(const OptionValue& value);
[[nodiscard]] std::string in_words(const Accepts& accepts);

// Returns an error with the reason if happed cannot bind a key.
using KeyCheck = std::function<Status(std::string_view)>;

// Reads a file's text; Errors call the file `name`. The error has a line "NAME:LINE: OPTION: message" for each mistake,
// by line, at most twenty; for text that is not TOML, only the first.
[[nodiscard]] Result<Configuration> read_configuration(std::string_view text, std::string_view name,
                                                       const KeyCheck& can_be_bound = {});

// Every option by its dotted name, in the documented order.
[[nodiscard]] std::vector<std::pair<std::string_view, OptionValue>> describe_settings(const Configuration&);

}  // namespace happe
