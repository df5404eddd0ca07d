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

std::size_t place(std::int64_t number) {
    return static_cast<std::size_t>(number % kCount);
}

}  // namespace

void PowerHistory::Slot::add(std::int64_t to, double watts, double time) {
    if (number != to) {
        *this = {.number = to};
    }
    joules += watts * time;
    seconds += time;
}

void PowerHistory::add_until(Moment now) {
    const std::int64_t last = number_at(now);
    for (auto number = std::max(number_at(since_), last - kCount + 1); watts_ && number <= last; ++number) {
        const Moment time = std::min(now, begin_of(number + 1)) - std::max(since_, begin_of(number));
        slots_.at(place(number)).add(number, *watts_, time.count());
    }
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
        const Slot& slot = until_now.slots_.at(place(number + kCount));  // early numbers are below 0
        const bool known = number >= 0 && slot.number == number && slot.seconds > 0.0;
        means.push_back(known ? std::optional(slot.joules / slot.seconds) : std::nullopt);
    }
    means.push_back(watts_);
    return means;
}

Moment PowerHistory::next_step(Moment now) {
    return begin_of(number_at(now) + 1);
}

}  // namespace happe::ui
