// SPDX-License-Identifier: GPL-2.0-or-later
// Which power profile is in force: what a person chose, unless programs hold another. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

enum class PowerProfile : std::uint8_t { PowerSaver, Balanced, Performance };

const char* name_of(PowerProfile profile);  // as on the bus
std::optional<PowerProfile> profile_named(std::string_view name);

struct ProfileHold {
    PowerProfile profile;  // not balanced
    std::string reason;
    std::string application;
    std::string holder;     // its unique name on the bus
    std::string interface;  // of the two, the one by which it asked
    bool operator==(const ProfileHold&) const = default;
};

class ProfileChoice {
public:
    using Holds = std::map<std::uint32_t, ProfileHold>;  // by cookie

    static constexpr std::size_t kMostHolds = 16;  // of one holder

    explicit ProfileChoice(PowerProfile chosen) : chosen_(chosen) {}

    // A person's choice ends all holds, which are returned.
    Holds choose(PowerProfile profile);
    // Its cookie; nothing if this holder has too many.
    std::optional<std::uint32_t> hold(ProfileHold wanted);
    // Those that ended: none if the cookie is not this holder's.
    Holds release(std::uint32_t cookie, const std::string& holder);
    Holds left(const std::string& holder);

    [[nodiscard]] PowerProfile chosen() const { return chosen_; }
    [[nodiscard]] PowerProfile active() const;
    // Whose hold decides: one for power-saver before one for performance, then the oldest. Null: the choice decides.
    [[nodiscard]] const ProfileHold* deciding() const;
    [[nodiscard]] const Holds& holds() const { return holds_; }

private:
    PowerProfile chosen_;
    Holds holds_;
    std::uint32_t last_cookie_ = 0;
};

}  // namespace happe
