// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/documents/json_document.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace happe {

// The plan of a study's run.
struct RunPlan {
    std::string condition;                          // ondemand, T-HAPPE, O-HAPPE, B-HAPPE, L-HAPPE, fixed-N
    std::string subject;                            // the participant's code
    std::string application;                        // empty: every application that the person at the machine uses
    std::optional<std::uint32_t> sampling_rate_us;  // of ondemand
    std::optional<std::uint32_t> up_threshold;      // of ondemand, percent
    std::string epp;                                // energy performance preference, one of kEpps; empty: unchanged
    bool raised = false;                            // begins with the trained profile, raised by one step
    bool indicator = false;                         // the battery indicator is on the screen
    bool sham = false;                              // happed records presses of the keys, which have no effect
    bool operator==(const RunPlan&) const = default;
};

// The energy performance preferences that HAPPE sets. Not "default": the kernel then shows another word, so HAPPE could
// not recognise its own setting.
inline constexpr std::array<std::string_view, 4> kEpps{"performance", "balance_performance", "balance_power", "power"};

inline std::string read_epp(const json::Field& field) {
    return std::string(kEpps[field.one_of({kEpps[0], kEpps[1], kEpps[2], kEpps[3]})]);
}

}  // namespace happe

// The names of a run's conditions, as protocols, documents and the bus write them (paper, section A.5).
namespace happe::condition {

inline constexpr std::string_view kOndemand = "ondemand";  // the kernel's governor
inline constexpr std::string_view kTraining = "T-HAPPE";
inline constexpr std::string_view kOperating = "O-HAPPE";
inline constexpr std::string_view kIndicated = "B-HAPPE";  // operating, with the battery indicator
inline constexpr std::string_view kExtended = "L-HAPPE";   // operating in mode `extended`
inline constexpr std::array kNamed{kOndemand, kTraining, kOperating, kIndicated, kExtended};

inline constexpr std::string_view kFixed = "fixed-";  // fixed-N is the ladder's Nth frequency from below (section A.3)
inline constexpr std::size_t kMostLevels = 64;

// N of fixed-N, from 1 to 64 and without zeros before it; 0 for another text.
constexpr std::size_t fixed_level(std::string_view name) {
    constexpr std::size_t kTen = 10;
    if (!name.starts_with(kFixed) || name.substr(kFixed.size()).starts_with('0')) {
        return 0;
    }
    std::size_t level = 0;
    for (const char digit : name.substr(kFixed.size())) {
        level = digit >= '0' && digit <= '9' ? level * kTen + static_cast<std::size_t>(digit - '0') : kMostLevels + 1;
        if (level > kMostLevels) {
            return 0;
        }
    }
    return level;
}

constexpr bool is_known(std::string_view name) {
    return std::ranges::find(kNamed, name) != kNamed.end() || fixed_level(name) != 0;
}

}  // namespace happe::condition
