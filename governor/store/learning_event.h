// SPDX-License-Identifier: GPL-2.0-or-later
// Lessons as the device database keeps them: the table learning_event of profiles/sql.
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
inline constexpr std::size_t kMostProfiles = 1000;  // of a user; beyond, the one taught longest ago is forgotten
inline constexpr std::size_t kMostEvents =
    10'000;  // of a profile; beyond, the oldest is (profiles/sql/0002_bounds.sql)

struct LearningEvent {
    std::int64_t seq = 0;  // the order of learning in one database, from 1; 0: not stored yet
    WallTime at;           // may go back, as a wall clock may
    Lesson lesson;
    // The lesson that this event undid; 0: it is a lesson itself. `lesson` then has what changed back, and no key.
    std::int64_t undoes = 0;
};

struct UndoneLesson {
    Served whom;
    LearningEvent event;
};

struct Undone {
    std::vector<UndoneLesson> lessons;  // in the order of their undoing
    std::string end;                    // why there are not as many as were asked for; else empty
};

// A lesson on its way to the database.
struct WaitingLesson {
    Served whom;
    LearningEvent event;
    Uafp before;
    Uafp after;
    std::optional<Patience> patience;  // after; nothing: the profile's state stays
};

}  // namespace happe
