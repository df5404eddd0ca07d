// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/profile_book.h"

#include <vector>

namespace happe {

Uafp ProfileBook::profile(const Served& whom) const {
    if (const auto found = known_.find(whom); found != known_.end()) {
        return found->second;
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
