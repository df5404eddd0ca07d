// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/power_history.h"

#include <algorithm>

namespace happe::ui {
namespace {

constexpr auto kCount = static_cast<std::int64_t>(PowerHistory::kSlots);

std::int64_t number_at(Moment time) {
    return static_cast<std::int64_t>(time / PowerHistory::kSlot);
}

Moment begin_of(std::int64_t number) {
    return PowerHistory::kSlot * double(number);
}

}  // namespace

void PowerHistory::add_until(Moment now) {
    const std::int64_t first = number_at(now) - kCount + 1;
    for (auto number = std::max(number_at(since_), first); watts_ && number < first + kCount; ++number) {
        const Moment time = std::min(now, begin_of(number + 1)) - std::max(since_, begin_of(number));
        Slot& slot = slots_[number];
        slot.joules += *watts_ * time.count();
        slot.seconds += time.count();
    }
    slots_.erase(slots_.begin(), slots_.lower_bound(first));
    since_ = now;
}

void PowerHistory::becomes(std::optional<double> watts, Moment now) {
    add_until(now);
    watts_ = watts;
}

std::vector<std::optional<double>> PowerHistory::steps(Moment now) const {
    PowerHistory until_now = *this;
    until_now.add_until(now);
    std::vector<std::optional<double>> means;
    const std::int64_t last = number_at(now);
    for (std::int64_t number = last - kCount + 1; number < last; ++number) {
        const auto slot = until_now.slots_.find(number);
        const bool known = slot != until_now.slots_.end() && slot->second.seconds > 0.0;
        means.push_back(known ? std::optional(slot->second.joules / slot->second.seconds) : std::nullopt);
    }
    means.push_back(watts_);
    return means;
}

Moment PowerHistory::next_step(Moment now) {
    return begin_of(number_at(now) + 1);
}

}  // namespace happe::ui
