// SPDX-License-Identifier: GPL-2.0-or-later
// The loop that every HAPPE program runs: sample, decide, set, learn, tell. The daemon gives it a real machine,
// happe-sim a simulated one or a trace; only the ports differ.
#pragma once

#include "governor/core/focus_source.h"
#include "governor/core/frequency_control.h"
#include "governor/core/governor.h"
#include "governor/core/press_series.h"
#include "governor/core/profile_book.h"
#include "governor/core/profile_store.h"
#include "governor/core/turn_observer.h"

#include <optional>
#include <vector>

namespace happe {

// When HAPPE acts on a press: at the end of the period (as in the paper and in studies), or at once.
enum class Feedback : std::uint8_t { NextSample, Immediate };

struct LoopSettings {
    Settings algorithm;
    Feedback feedback = Feedback::NextSample;
    Micros period = std::chrono::seconds{1};
    bool sham = false;  // the observer sees presses, but they have no effect
    Domains domains;    // of the machine's policies
};

struct Ports {
    UtilisationSource& utilisation;
    FrequencyControl& frequency;
    KeySource& keys;
    FocusSource& focus;
    ProfileStore& profiles;
    TurnObserver& observer;
};

class Loop {
public:
    // A shorter sample has too few of the 10 ms ticks of /proc/stat to learn from.
    static constexpr Micros kShortestSample = std::chrono::milliseconds{100};

    Loop(Ports ports, LoopSettings settings, MonoTime now);

    // Starts a new period now, as a new loop does. Call after a time without turns, which belongs to no period.
    void begin(MonoTime now);

    // Call when somebody else has changed the stored profiles. The next turn reads them again; until then frequencies
    // stay unchanged.
    void profiles_changed();

    // The time of the next turn.
    [[nodiscard]] MonoTime due() const { return due_; }

    // Call when the key source has an event. With immediate feedback this ends the current sample: at once, or as soon
    // as the sample is long enough.
    void pressed(MonoTime now);

    // Call when a turn is due. `now` must not go back.
    void turn(MonoTime now);

private:
    void measure();
    void serve(const Served* whom);
    Status read_profiles(const Served& whom);
    Status read_profile(const Served& whom);
    void apply(const Decision& decision);
    void remember(const Uafp& before, const Lesson& lesson);
    void report(const Status& status);

    Ports ports_;
    LoopSettings settings_;
    Governor governor_;
    ProfileBook book_;
    std::optional<Served> served_;
    std::optional<Uafp> uafp_;
    PressSeries series_;
    bool acquired_ = false;
    MonoTime last_;
    MonoTime due_;

    // Members so that their memory is reused between turns.
    std::vector<Ppm> cpus_;
    std::vector<PolicySample> samples_;
    std::vector<Press> presses_;
};

}  // namespace happe
