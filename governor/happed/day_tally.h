// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/services.h"
#include "governor/core/witness.h"
#include "governor/store/learning_event.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace happe {

// How long the busiest CPU of each served user has run since midnight, by its speed and utilisation: docs/dbus.md,
// TimeSpent. In memory only, so a new happed begins with nothing.
class DayTally final : public TallyService {
public:
    struct Moment {
        WallTime at;
        std::int64_t day = 0;  // another number on another day where the machine is
    };
    [[nodiscard]] static Moment local(WallTime at);

    explicit DayTally(std::function<Moment()> now) : now_(std::move(now)) {}

    // A turn that served somebody.
    void add(const Turn& turn);

    Answer<TimeSpent> today(const std::string& user) override;

private:
    struct Tally {
        WallTime since;
        std::map<std::pair<Khz, std::uint8_t>, Micros> spent;  // by speed and percent
    };
    Moment today_is();

    std::function<Moment()> now_;
    std::int64_t day_ = 0;
    std::map<std::string, Tally> tallies_;  // by user, of `day_`
};

}  // namespace happe
