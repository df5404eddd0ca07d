// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/service_error.h"
#include "governor/bus/shown_state.h"
#include "governor/core/turn_observer.h"
#include "governor/store/learning_event.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <ratio>
#include <string>
#include <utility>

namespace happe {

// How long the busiest CPU of each served user has run since midnight, by its speed and utilisation: docs/dbus.md,
// TimeSpent. In memory only, so a new happed begins with nothing.
class DayTally {
public:
    // `day_of`: the number of the day that contains this time, in the machine's time zone.
    DayTally(std::function<WallTime()> now, std::function<std::int64_t(WallTime)> day_of)
        : now_(std::move(now)), day_of_(std::move(day_of)) {}

    // The day in this machine's time zone, for the constructor.
    [[nodiscard]] static std::int64_t local_day(WallTime at);

    // Adds a turn. It must have served somebody.
    void add(const Turn& turn);

    Answer<TimeSpent> today(const std::string& user);

private:
    struct Tally {
        WallTime since;
        std::map<std::pair<Khz, std::uint8_t>, Micros> spent;  // by speed and percent
    };
    using Quarter = std::chrono::duration<std::int64_t, std::ratio<900>>;  // of an hour

    WallTime begin_day();

    std::function<WallTime()> now_;
    std::function<std::int64_t(WallTime)> day_of_;
    std::chrono::time_point<WallTime::clock, Quarter> quarter_;  // of the last turn
    std::int64_t day_ = 0;
    std::map<std::string, Tally> tallies_;  // by user, of `day_`
};

}  // namespace happe
