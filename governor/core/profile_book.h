// SPDX-License-Identifier: GPL-2.0-or-later
// The paper's map[user][application]: every known UAFP, in memory.
#pragma once

#include "governor/core/extended.h"
#include "governor/core/uafp.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace happe {

// The source of power, for a profile that holds for one source only.
enum class PowerSource : std::uint8_t { Both, Mains, Battery };

// The names in the database.
constexpr const char* name_of(PowerSource source) {
    return std::array{"", "mains", "battery"}.at(static_cast<std::size_t>(source));
}

// The `app` of a person who uses no application that HAPPE knows. No application has this name.
inline constexpr const char* kNoApplication = "desktop";

// The user and application that the governor serves.
struct Served {
    std::string user;
    std::string app;
    PowerSource source = PowerSource::Both;
    auto operator<=>(const Served&) const = default;
};

// The profile's name in documents and commands: "torcs", or "torcs/mains" if it holds only on mains. No application's
// name contains a slash.
[[nodiscard]] std::string profile_name(const Served& whom);
[[nodiscard]] Served served_of(std::string user, std::string_view profile);

// The profile from which a new profile of this source of power starts.
[[nodiscard]] Served begins_as(const Served& whom);

class ProfileBook {
public:
    // `untaught`: the start of an unknown application. With `warm_start`, it starts from the user's other profiles, if
    // there are any.
    ProfileBook(Uafp untaught, bool warm_start) : untaught_(untaught), warm_start_(warm_start) {}

    // The known profile; otherwise the one from which it starts; otherwise the start of an unknown application. The
    // book learns of a profile only through put().
    [[nodiscard]] Uafp profile(const Served& whom) const;
    [[nodiscard]] bool knows(const Served& whom) const { return known_.contains(whom); }

    void put(const Served& whom, const Uafp& uafp) { known_.insert_or_assign(whom, uafp); }

    // The memory of the setting `descent` for a profile, known or not. The reference stays valid.
    [[nodiscard]] Patience* patience(const Served& whom) {
        const auto found = patience_.find(whom);
        return found == patience_.end() ? nullptr : &found->second;
    }
    void put(const Served& whom, const Patience& patience) { patience_.insert_or_assign(whom, patience); }

private:
    Uafp untaught_;
    bool warm_start_;
    std::map<Served, Uafp> known_;
    std::map<Served, Patience> patience_;
};

}  // namespace happe
