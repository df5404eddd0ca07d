// SPDX-License-Identifier: GPL-2.0-or-later
// Lessons as the device database keeps them: the table learning_event of profiles/sql/0001_profiles.sql.
#pragma once

#include "governor/core/governor.h"
#include "governor/core/profile_book.h"

#include <chrono>
#include <cstdint>
#include <functional>

namespace happe {

using WallTime = std::chrono::sys_time<Micros>;
using WallClock = std::function<WallTime()>;

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
