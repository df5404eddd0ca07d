// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/day_tally.h"

#include <algorithm>
#include <ctime>

namespace happe {
namespace {

constexpr std::uint32_t kPpmOfPercent = 10'000;
constexpr std::uint32_t kStep = 100'000;  // kHz: rounds measured speeds, so that a day has few entries

Khz rounded(Khz speed) {
    return Khz{(speed.value + kStep / 2) / kStep * kStep};
}

}  // namespace

std::int64_t DayTally::local_day(WallTime at) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
    std::tm there{};
    ::localtime_r(&seconds, &there);
    constexpr std::int64_t kMostDays = 366;
    return there.tm_year * kMostDays + there.tm_yday;
}

void DayTally::add(const Turn& turn) {
    const auto& running = turn.decision.running;
    const auto busiest = std::ranges::max_element(
        running, [](const Running& one, const Running& other) { return one.normalised() < other.normalised(); });
    if (busiest == running.end()) {
        return;  // no CPU had a measurement
    }
    const WallTime now = begin_day();
    Tally& tally =
        tallies_.try_emplace(turn.served->user, Tally{.since = now - turn.lasted, .spent = {}}).first->second;
    const auto percent = static_cast<std::uint8_t>(busiest->utilisation.value / kPpmOfPercent);
    tally.spent[{rounded(busiest->speed()), percent}] += turn.lasted;
}

Answer<TimeSpent> DayTally::today(const std::string& user) {
    const WallTime now = begin_day();
    const auto found = tallies_.find(user);
    TimeSpent today{.since_us = now.time_since_epoch().count(), .spent = {}};
    if (found == tallies_.end()) {
        return today;
    }
    today.since_us = found->second.since.time_since_epoch().count();
    for (const auto& [where, time] : found->second.spent) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
        today.spent.push_back({where.first, where.second, static_cast<std::uint32_t>(ms)});
    }
    return today;
}

// Asks the calendar once in a quarter of an hour. All time zones differ from UTC by whole quarters of an hour, so a day
// ends with one.
WallTime DayTally::begin_day() {
    const WallTime now = now_();
    const auto quarter = std::chrono::floor<Quarter>(now);
    if (quarter == quarter_) {
        return now;
    }
    quarter_ = quarter;
    if (const std::int64_t day = day_of_(now); day != day_) {
        tallies_.clear();
        day_ = day;
    }
    return now;
}

}  // namespace happe
