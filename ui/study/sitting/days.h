// SPDX-License-Identifier: GPL-2.0-or-later
// Decides what comes next in a study at home, where a run is a day of use (docs/study-at-home.md). Pure.
#pragma once

#include "ui/study/sitting/steps.h"

#include <cstdint>
#include <optional>
#include <string>

namespace happe::study {

struct WallTime {
    std::int64_t unix_s = 0;
    std::int64_t utc_offset_s = 0;  // the local time's offset
};

// The number of the local day that has begun last. Days begin `begins_s` seconds after midnight.
[[nodiscard]] std::int64_t day_of(WallTime now, std::int64_t begins_s);

// The longest piece, in seconds, on a machine with this number of CPUs. The server accepts records of up to four hours
// and 8 MiB. A second takes about 160 bytes, and 66 for each policy. A policy has at least one CPU.
[[nodiscard]] std::int64_t longest_piece_s(int cpus);

// A day of use in the journal.
struct Day {
    std::int64_t began_s = 0;   // by the wall clock
    std::int64_t date = 0;      // day_of() its beginning
    std::optional<int> rating;  // once the participant has rated it
    bool operator==(const Day&) const = default;
};

// True if the day has lasted its least seconds, and a later day has begun.
[[nodiscard]] bool is_over(const Day& day, WallTime now, std::int64_t begins_s, std::int64_t least_s);

enum class Doing : std::uint8_t {
    Read,      // the participant reads in the browser
    Begin,     // a piece of the day: the first, or another
    Recover,   // a piece has ended without this program: fetch it from happed
    Wait,      // a piece is on
    EndPiece,  // the day is over, and a piece of it is on
    EndDay,
    Rate,
    Guess,
    Stopped,  // aborted, and not planned again yet
    Finished,
};

// Decides what to do at this turn of a run in the sitting. `day`: the run's day, if it has begun. `on`: a piece is on.
// `over`: is_over() of the day.
[[nodiscard]] Doing doing(Turn turn, const std::optional<Day>& day, bool on, bool over);

}  // namespace happe::study
