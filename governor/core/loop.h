// SPDX-License-Identifier: GPL-2.0-or-later
// The loop that every HAPPE program runs: sample, decide, set, learn, tell. The daemon gives it a real machine,
// happe-sim a simulated one or a trace; only the ports differ.
#pragma once

#include "governor/core/focus_source.h"
#include "governor/core/frequency_control.h"
#include "governor/core/governor.h"
#include "governor/core/key_source.h"
#include "governor/core/press_series.h"
#include "governor/core/profile_book.h"
#include "governor/core/profile_store.h"
#include "governor/core/utilisation_source.h"
#include "governor/core/witness.h"

#include <optional>
#include <vector>

namespace happe {

// When a press is acted on: at the end of the period (the paper's, and studies'), or at once.
enum class Feedback : std::uint8_t { NextSample, Immediate };

struct LoopSettings {
    Settings algorithm;
    Feedback feedback = Feedback::NextSample;
    Micros period = std::chrono::seconds{1};
    bool sham = false;  // presses are told to the witness and not acted on
};

struct Ports {
    UtilisationSource& utilisation;
    FrequencyControl& frequency;
    KeySource& keys;
    FocusSource& focus;
    ProfileStore& profiles;
    Witness& witness;
};

class Loop {
public:
    // A sample shorter than this has too few of /proc/stat's 10 ms ticks to learn from.
    static constexpr Micros kShortestSample = std::chrono::milliseconds{100};

    Loop(Ports ports, LoopSettings settings, MonoTime now);

    // Starts a period now, as if the loop were new: after a time without turns, which belongs to no period.
    void begin(MonoTime now);

    // When turn() is wanted next.
    [[nodiscard]] MonoTime due() const { return due_; }

    // Something waits in the key source: with immediate feedback this ends the sample in progress, now if it is long
    // enough.
    void pressed(MonoTime now);

    // Call when due, and not before the time of a turn before.
    void turn(MonoTime now);

private:
    void measure();
    void serve(const Served* whom);
    Status read_profiles(const Served& whom);
    void apply(const Decision& decision);
    void remember(const Decision& decision);
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

    // Of one turn, kept for their memory.
    std::vector<Ppm> cpus_;
    std::vector<PolicySample> samples_;
    std::vector<MeasuredPolicy> measured_;
    std::vector<Press> presses_;
};

}  // namespace happe
