// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/presses.h"

#include <algorithm>

namespace happe {

bool Presses::say(const Press& press) {
    const bool allowed = allowance_.take(press.at);
    if (allowed) {
        said_.push_back(press);
    }
    return allowed;
}

void Presses::take(std::vector<Press>& presses) {
    keys_.take(presses);
    presses.insert(presses.end(), said_.begin(), said_.end());
    said_.clear();
    if (presses.empty()) {
        return;
    }
    std::erase_if(presses, [this](const Press& press) { return press.at < since_; });
    std::ranges::sort(presses, {}, &Press::at);
}

void Presses::forget(MonoTime since) {
    std::vector<Press> dropped;
    take(dropped);
    since_ = since;
}

}  // namespace happe
