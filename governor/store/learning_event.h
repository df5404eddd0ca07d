// SPDX-License-Identifier: GPL-2.0-or-later
// Lessons in the device database: the table learning_event of profiles/profiles.sql.
#pragma once

#include "governor/core/governor.h"
#include "governor/core/profile_book.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace happe {

using WallTime = std::chrono::sys_time<Micros>;
using WallClock = std::function<WallTime()>;

// Limits that keep the device database from growing without end.
inline constexpr std::size_t kMostProfiles = 1000;  // a user's; beyond it the profile taught longest ago goes
inline constexpr std::size_t kMostEvents =
    10'000;  // a profile's; beyond it the oldest event goes (profiles/profiles.sql)

struct LearningEvent {
    std::int64_t seq = 0;  // the order of learning in a database, from 1; 0: not stored yet
    WallTime at;           // by the wall clock, so it may go back
    Lesson lesson;
    // The number of the lesson that this event undid; `lesson` then holds the change back, and its key means nothing.
    // 0: the event is a lesson itself.
    std::int64_t undoes = 0;
};

struct UndoneLesson {
    Served whom;
    LearningEvent event;
};

struct Undone {
    std::vector<UndoneLesson> lessons;  // in the order of undoing
    std::string end;                    // why the store undid fewer lessons than requested; otherwise empty
};

// A lesson on its way to the database.
struct WaitingLesson {
    Served whom;
    LearningEvent event;
    Uafp before;
    Uafp after;
    std::optional<Patience> patience;  // after the lesson; empty: the profile's state stays
};

}  // namespace happe
