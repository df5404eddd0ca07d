// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/profile_book.h"

#include <vector>

namespace happe {

std::string profile_name(const Served& whom) {
    const std::string source = name_of(whom.source);
    return source.empty() ? whom.app : whom.app + "/" + source;
}

Served served_of(std::string user, std::string_view profile) {
    const std::size_t slash = profile.rfind('/');
    for (const PowerSource source : {PowerSource::Mains, PowerSource::Battery}) {
        if (slash != std::string_view::npos && slash > 0 && profile.substr(slash + 1) == name_of(source)) {
            return {.user = std::move(user), .app = std::string(profile.substr(0, slash)), .source = source};
        }
    }
    return {.user = std::move(user), .app = std::string(profile)};
}

Served begins_as(const Served& whom) {
    return {.user = whom.user,
            .app = whom.app,
            .source = whom.source == PowerSource::Both ? PowerSource::Mains : PowerSource::Both};
}

Uafp ProfileBook::profile(const Served& whom) const {
    if (const auto found = known_.find(whom); found != known_.end()) {
        return found->second;
    }
    if (const auto other = known_.find(begins_as(whom)); other != known_.end()) {
        return other->second;
    }
    std::vector<Uafp> others;
    if (warm_start_) {
        for (const auto& [known, uafp] : known_) {
            if (known.user == whom.user) {
                others.push_back(uafp);
            }
        }
    }
    return others.empty() ? untaught_ : lower_median(others);
}

}  // namespace happe
