// SPDX-License-Identifier: GPL-2.0-or-later
// Decides which power profile is in force: the person's choice, unless programs hold another. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

enum class PowerProfile : std::uint8_t { PowerSaver, Balanced, Performance };

const char* name_of(PowerProfile profile);  // the name on the bus
std::optional<PowerProfile> profile_named(std::string_view name);

struct ProfileHold {
    PowerProfile profile;  // not balanced
    std::string reason;
    std::string application;
    std::string holder;     // the program's unique name on the bus
    std::string interface;  // the one of the two interfaces that it called
    bool operator==(const ProfileHold&) const = default;
};

class ProfileChoice {
public:
    using Holds = std::map<std::uint32_t, ProfileHold>;  // by cookie

    static constexpr std::size_t kMostHolds = 16;  // for each holder

    explicit ProfileChoice(PowerProfile chosen) : chosen_(chosen) {}

    // Sets a person's choice, which ends all holds. Returns them.
    Holds choose(PowerProfile profile);
    // Adds a hold and returns its cookie; nothing if this holder has too many.
    std::optional<std::uint32_t> hold(ProfileHold wanted);
    // These two return the holds that ended. release() ends nothing if the cookie is not this holder's.
    Holds release(std::uint32_t cookie, const std::string& holder);
    Holds left(const std::string& holder);

    [[nodiscard]] PowerProfile chosen() const { return chosen_; }
    [[nodiscard]] PowerProfile active() const;
    // The hold that decides: power-saver before performance, then the oldest. Null: the person's choice decides.
    [[nodiscard]] const ProfileHold* deciding() const;
    [[nodiscard]] const Holds& holds() const { return holds_; }

private:
    PowerProfile chosen_;
    Holds holds_;
    std::uint32_t last_cookie_ = 0;
};

}  // namespace happe
