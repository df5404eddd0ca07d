// SPDX-License-Identifier: GPL-2.0-or-later
// What comes next in a sitting. It follows from what the server said last and from what the laptop has written down, so
// that a wizard which was killed goes on where it was. Pure.
#pragma once

#include "ui/study/sitting/sitting.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace happe::study {

// How far a run is on this laptop, as in its journal.
//
//     starting --happed runs it--> running --it lasted--> ended --rating--> rated --guess--> answered
//        ^                            |                                       (without a guess: answered at once)
//        +------begun again-----------+          each of them --the experimenter's reason--> aborted
enum class Step : std::uint8_t { Starting, Running, Ended, Rated, Answered, Aborted };

struct KnownRun {
    std::string code;
    std::string start_id;      // under which the server was and is asked for its condition
    std::string governor_run;  // happed's name for it; empty before it ran
    Step step = Step::Starting;
    std::vector<std::string> notes;  // what came between; for the record
};

enum class Turn : std::uint8_t {
    Handout,      // the participant reads in the browser
    Practice,     // of the run's application
    Ready,        // the run may be started
    Interrupted,  // it had been started; it begins again
    Rate,
    Guess,
    Stopped,  // aborted, and not planned again yet
    Finished,
};

struct Next {
    Turn turn = Turn::Finished;
    std::size_t run = 0;  // which of the sitting's
};

// `practised`: keys of applications.
[[nodiscard]] Next next(const Sitting& sitting, const std::vector<KnownRun>& known,
                        const std::set<std::string>& practised);

}  // namespace happe::study
