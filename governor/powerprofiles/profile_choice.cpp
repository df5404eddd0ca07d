// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/powerprofiles/profile_choice.h"

#include <algorithm>
#include <utility>

namespace happe {

const char* name_of(PowerProfile profile) {
    switch (profile) {
        case PowerProfile::PowerSaver:
            return "power-saver";
        case PowerProfile::Balanced:
            return "balanced";
        case PowerProfile::Performance:
            return "performance";
    }
    return "balanced";
}

std::optional<PowerProfile> profile_named(std::string_view name) {
    for (const PowerProfile profile : {PowerProfile::PowerSaver, PowerProfile::Balanced, PowerProfile::Performance}) {
        if (name == name_of(profile)) {
            return profile;
        }
    }
    return std::nullopt;
}

ProfileChoice::Holds ProfileChoice::choose(PowerProfile profile) {
    chosen_ = profile;
    return std::exchange(holds_, {});
}

std::optional<std::uint32_t> ProfileChoice::hold(ProfileHold wanted) {
    const auto held = std::ranges::count(holds_, wanted.holder, [](const auto& entry) { return entry.second.holder; });
    if (static_cast<std::size_t>(held) >= kMostHolds) {
        return std::nullopt;
    }
    do {
        ++last_cookie_;
    } while (last_cookie_ == 0 || holds_.contains(last_cookie_));
    holds_.emplace(last_cookie_, std::move(wanted));
    return last_cookie_;
}

ProfileChoice::Holds ProfileChoice::release(std::uint32_t cookie, const std::string& holder) {
    Holds ended;
    if (const auto found = holds_.find(cookie); found != holds_.end() && found->second.holder == holder) {
        ended.insert(holds_.extract(found));
    }
    return ended;
}

ProfileChoice::Holds ProfileChoice::left(const std::string& holder) {
    Holds ended;
    for (auto next = holds_.begin(); next != holds_.end();) {
        const auto entry = next++;
        if (entry->second.holder == holder) {
            ended.insert(holds_.extract(entry));
        }
    }
    return ended;
}

PowerProfile ProfileChoice::active() const {
    const ProfileHold* const held = deciding();
    return held == nullptr ? chosen_ : held->profile;
}

const ProfileHold* ProfileChoice::deciding() const {
    const auto first = std::ranges::min_element(
        holds_, [](const auto& a, const auto& b) { return a.second.profile < b.second.profile; });
    return first == holds_.end() ? nullptr : &first->second;
}

}  // namespace happe
