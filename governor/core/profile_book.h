// SPDX-License-Identifier: GPL-2.0-or-later
// map[user][application] of the paper: every UAFP that is known, in memory.
#pragma once

#include "governor/core/uafp.h"

#include <map>
#include <string>

namespace happe {

// Whom and what the governor serves.
struct Served {
    std::string user;
    std::string app;
    auto operator<=>(const Served&) const = default;
};

class ProfileBook {
public:
    // `untaught`: what an unknown application starts with; `warm_start`: unless the user has other profiles to start
    // from.
    ProfileBook(Uafp untaught, bool warm_start) : untaught_(untaught), warm_start_(warm_start) {}

    // The profile as known, else what an unknown application starts with. The book doesn't know it until put().
    [[nodiscard]] Uafp profile(const Served& whom) const;
    [[nodiscard]] bool knows(const Served& whom) const { return known_.contains(whom); }

    void put(const Served& whom, const Uafp& uafp) { known_.insert_or_assign(whom, uafp); }

private:
    Uafp untaught_;
    bool warm_start_;
    std::map<Served, Uafp> known_;
};

}  // namespace happe
