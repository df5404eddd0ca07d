// SPDX-License-Identifier: GPL-2.0-or-later
// Work at a desk: interactions of which a person feels the lag, and nothing else.
//
// Each interaction needs some work, and the person tolerates some time for it. A longer time is lag: its shortfall is
// the share of the time that the person does not tolerate. At a standing frequency this is the shortfall of
// participant.h, with a need of work / tolerated time.
//
// People feel the lag of interactions, not the frequency: Mallik et al., "PICSEL", ASPLOS 2008; Lorch and Smith, "Using
// user interface event information in dynamic voltage scaling algorithms", MASCOTS 2003. How long they tolerate depends
// on the kind of interaction: Seeker et al., "Measuring QoE of interactive workloads", IISWC 2014, take Shneiderman's
// 150 ms for typing, 1 s for a simple, 4 s for a common and 12 s for a complex task. We take these times, too. All
// other numbers are assumed. None is fitted to anything.
#pragma once

#include "governor/sim/random.h"

#include <array>
#include <span>
#include <string_view>

namespace happe::sim {

struct Interaction {
    double work = 0.0;       // median, in seconds of a CPU at its top frequency
    double tolerated = 0.0;  // seconds, by the median person
    double pause = 0.0;      // mean seconds from its end to the next interaction
    double share = 1.0;      // of the application's interactions
    bool paced = false;      // a second of video: needs no input, works evenly, and nobody wants it sooner
};

struct OfficeApplication {
    std::string_view name;
    std::array<Interaction, 2> interactions;

    [[nodiscard]] double need() const;  // the highest median need, as a share of the top frequency
};

// As many as the fitted people have applications.
std::span<const OfficeApplication, 4> office_applications();

// One person uses one application.
class Office {
public:
    Office(const OfficeApplication& application, double top_khz, Random random);

    // Begins the next step. The person needs `impatience` times as much speed as the median.
    void next(double seconds, double impatience);

    // Ends it: the CPU ran at `khz`.
    void ran(double seconds, double khz);

    [[nodiscard]] double demand_khz(double seconds) const;         // in this step
    [[nodiscard]] double need_khz() const;                         // as long as the person waits, else 0
    [[nodiscard]] double shortfall() const { return shortfall_; }  // of the present interaction
    [[nodiscard]] double annoyance() const { return annoyance_; }  // the same, and what the person remembers
    [[nodiscard]] double idle() const { return idle_; }            // seconds since the last input

private:
    [[nodiscard]] double tolerated() const;

    const OfficeApplication* application_;
    double top_khz_;
    Random random_;
    const Interaction* present_ = nullptr;
    double impatience_ = 1.0;
    double work_ = 0.0;    // of the present interaction, in kHz times seconds
    double left_ = 0.0;    // of it
    double waited_ = 0.0;  // seconds
    double pause_ = 0.0;   // seconds left
    double idle_ = 0.0;
    double shortfall_ = 0.0;
    double annoyance_ = 0.0;
};

}  // namespace happe::sim
