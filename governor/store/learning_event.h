// SPDX-License-Identifier: GPL-2.0-or-later
// Lessons as the device database keeps them: the table learning_event of profiles/sql/0001_profiles.sql.
#pragma once

#include "governor/core/governor.h"
#include "governor/core/profile_book.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace happe {

using WallTime = std::chrono::sys_time<Micros>;
using WallClock = std::function<WallTime()>;

// What the device database keeps, lest it grows without end.
inline constexpr std::size_t kMostProfiles = 1000;  // of a user; beyond, the one taught longest ago is forgotten
inline constexpr std::size_t kMostEvents =
    10'000;  // of a profile; beyond, the oldest is (profiles/sql/0002_bounds.sql)

struct LearningEvent {
    std::int64_t seq = 0;  // the order of learning in one database, from 1; 0: not stored yet
    WallTime at;           // may go back, as a wall clock may
    Lesson lesson;
};

// A lesson on its way to the database.
struct WaitingLesson {
    Served whom;
    LearningEvent event;
    Uafp after;
};

}  // namespace happe
