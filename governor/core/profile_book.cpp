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
        for (auto it = known_.lower_bound({.user = whom.user, .app = {}});
             it != known_.end() && it->first.user == whom.user; ++it) {
            others.push_back(it->second);
        }
    }
    return others.empty() ? untaught_ : lower_median(others);
}

}  // namespace happe
