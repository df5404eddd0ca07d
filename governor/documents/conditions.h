// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

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
