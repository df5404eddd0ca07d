// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/days.h"

#include <algorithm>

namespace happe::study {
namespace {

constexpr std::int64_t kDay = 86400;

}  // namespace

std::int64_t day_of(WallTime now, std::int64_t begins_s) {
    const std::int64_t local = now.unix_s + now.utc_offset_s - begins_s;
    return local / kDay - (local % kDay < 0 ? 1 : 0);
}

std::int64_t longest_piece_s(int cpus) {
    constexpr std::int64_t kMost = 230 * 60;  // less than four hours
    constexpr std::int64_t kBytes = std::int64_t{8} << 20;
    constexpr std::int64_t kOnce = kBytes / 16;  // for the profiles of many applications
    return std::min(kMost, (kBytes - kOnce) / (160 + std::int64_t{66} * std::max(cpus, 1)));
}

bool is_over(const Day& day, WallTime now, std::int64_t begins_s, std::int64_t least_s) {
    return day_of(now, begins_s) > day.date && now.unix_s - day.began_s >= least_s;
}

Doing doing(Turn turn, const std::optional<Day>& day, bool on, bool over) {
    switch (turn) {
        case Turn::Handout:
            return Doing::Read;
        case Turn::Practice:  // a study at home has none
        case Turn::Ready:
            return day && over ? Doing::EndDay : Doing::Begin;
        case Turn::Interrupted:
            if (!on) {
                return Doing::Recover;
            }
            return over ? Doing::EndPiece : Doing::Wait;
        case Turn::Rate:
            return Doing::Rate;
        case Turn::Guess:
            return Doing::Guess;
        case Turn::Stopped:
            return Doing::Stopped;
        case Turn::Finished:
            return Doing::Finished;
    }
    return Doing::Finished;
}

}  // namespace happe::study
