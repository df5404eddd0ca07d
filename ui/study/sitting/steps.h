// SPDX-License-Identifier: GPL-2.0-or-later
// Decides what comes next in a sitting from the server's last answer and the laptop's journal, so that a killed wizard
// continues where it was. Pure.
#pragma once

#include "ui/study/sitting/sitting.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace happe::study {

// The progress of a run in this laptop's journal.
//
//     starting --happed runs it--> running --it lasted--> ended --rating--> rated --guess--> answered
//        ^                            |                                       (without a guess: answered at once)
//        +------begun again-----------+          each of them --the experimenter's reason--> aborted
enum class Step : std::uint8_t { Starting, Running, Ended, Rated, Answered, Aborted };

struct KnownRun {
    std::string code;
    std::string start_id;      // the id of each request for the run's condition
    std::string governor_run;  // happed's name for the run; empty before it ran
    Step step = Step::Starting;
    std::vector<std::string> notes;  // interruptions, for the record
};

enum class Phase : std::uint8_t {
    Handout,      // the participant reads in the browser
    Practice,     // with the run's application
    Ready,        // somebody may start the run
    Interrupted,  // the run had started, and begins again
    Rate,
    Guess,
    Stopped,  // aborted, and not planned again yet
    Finished,
};

struct Next {
    Phase phase = Phase::Finished;
    std::size_t run = 0;  // the index of the run in the sitting
};

// `practised`: the keys of the applications that the participant has practised.
[[nodiscard]] Next next(const Sitting& sitting, const std::vector<KnownRun>& known,
                        const std::set<std::string>& practised);

}  // namespace happe::study
