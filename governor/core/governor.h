// SPDX-License-Identifier: GPL-2.0-or-later
// HAPPE's frequency controller: Algorithms 3 and 4 of the paper (section A.4), for any number of policies.
//
// Takes the observations of a period and returns a decision. It has no clock and no input or output, and allocates no
// memory after construction. docs/traces.md states the rules; governor.cpp contains the algorithm.
#pragma once

#include "governor/core/demand.h"
#include "governor/core/extended.h"
#include "governor/core/ladder.h"
#include "governor/core/uafp.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace happe {

// Settings beyond the paper, each off by default. docs/traces.md, "Settings beyond the paper".
struct Settings {
    bool extended = false;      // mode `extended` even with every other setting off; each of them implies it
    bool warm_start = false;    // start a new application from the user's other applications (see ProfileBook)
    bool middle_start = false;  // otherwise start at a part of the top frequency: start_percent
    bool hold = false;          // see Hold
    bool descent = false;       // see Descent
    bool felt = false;          // probes only where a person can feel them
    Khz floor{0};               // probes go no lower, in kHz of the fastest ladder
    bool begin_low = false;     // where HAPPE begins, take the level to which it would have come by itself
    bool silent_top = false;    // "faster" at the top teaches nothing
    // Parts of a ladder are rounded down to whole steps, at least one.
    std::uint32_t start_percent = 50;  // with middle_start: where a new application starts, of the top frequency
    Micros hold_time = std::chrono::seconds{30};
    std::uint32_t faster_part = 0;   // a press of "faster" raises by this fraction of the ladder; 0: by one step
    Micros again{0};                 // and twice as far for each further press that follows within this time
    std::uint32_t refused_part = 0;  // a refused probe leaves this fraction of the ladder more than before; 0: no more
    bool operator==(const Settings&) const = default;
};

// Mode `extended` for owners of laptops.
inline constexpr Settings kExtended{.extended = true,
                                    .middle_start = true,
                                    .hold = true,
                                    .descent = true,
                                    .felt = true,
                                    .begin_low = true,
                                    .silent_top = true,
                                    .start_percent = 60,
                                    .hold_time = std::chrono::seconds{120},
                                    .faster_part = 10,
                                    .again = std::chrono::seconds{60},
                                    .refused_part = 10};

// One policy's period.
struct PolicySample {
    PolicyId id;
    std::optional<Khz> current;  // if empty: the last decision, or the lowest frequency at first
    std::optional<Khz> ran;      // if `current` is a cap: the speed below it, if known
    std::optional<Khz> limit{};  // the lowest limit that is not HAPPE's
    std::span<const Ppm> cpus;   // utilisation of each CPU, at least one

    [[nodiscard]] Ppm utilisation() const { return std::ranges::max(cpus); }
};

struct Observation {
    std::span<const PolicySample> policies;  // ascending ids, all of them known policies
    std::optional<Key> key;                  // the key that counts in this period (PressSeries)
    bool power_saver = false;                // run one step lower than learned
    MonoTime at{};                           // the end of the period
    bool present = false;                    // somebody is there and can refuse a probe
    Micros idle{0};                          // if present: the longest time since somebody used keyboard or pointer
    Ppm front{0};                            // the application in front used so much CPU time, in ppm of one CPU
};

struct Target {
    PolicyId policy;
    Khz khz;
    bool operator==(const Target&) const = default;
};

// One entry of a UAFP, taught by a press or by an accepted probe.
struct Lesson {
    Key key = Key::Performance;
    PolicyId policy;     // the busiest of the domain
    Level level;         // the domain's level
    Khz from;            // the UAFP's entry at this level before the lesson
    Khz to;              // the entry after it, in kHz of the fastest ladder
    Khz current;         // the frequency or cap during the press
    Ppm utilisation;     // of the policy's busiest CPU in that period
    bool probe = false;  // taught by a probe that nobody refused, not by a press
    bool operator==(const Lesson&) const = default;
};

// The names in the device database and on the bus.
constexpr const char* cause_of(const Lesson& lesson) {
    return lesson.probe ? "probe" : name_of(lesson.key);
}

struct Decision {
    bool released = false;             // nobody to serve: HAPPE restores the machine
    std::span<const Target> targets;   // policies whose frequency changes, ascending ids; valid until the next step
    std::optional<Lesson> lesson;      // the UAFP already contains it
    std::optional<ProbeEvent> probe;   // its effect is already in the UAFP
    bool at_top = false;               // with `silent_top`: a press of "faster" found the top, and taught nothing
    std::span<const Running> running;  // the observed policies with their domains' levels; valid as long as `targets`
};

class Governor {
public:
    // `policies`: at least one, ascending ids.
    Governor(std::vector<PolicyLadder> policies, const Domains& domains, Settings settings);

    // Call once a period. `uafp` and `patience` are the profile of the served user and application, and may learn. Both
    // are null if nobody is served; `patience` may also be null without the setting `descent`. While a probe runs,
    // `uafp` has the probe's values.
    Decision step(const Observation& seen, Uafp* uafp, Patience* patience = nullptr);

    // Call when HAPPE serves another user or application from the next step, or the same one again. A running probe
    // ends without a lesson: the caller has the UAFP from before the probe.
    void forget_levels();

    // While a probe runs: the values to restore if it is refused.
    [[nodiscard]] const std::optional<Descent::Probe>& probe() const { return descent_.probe(); }

    // The profile before any lesson: every policy at its lowest frequency, or in the middle.
    [[nodiscard]] Uafp untaught() const;

    [[nodiscard]] std::span<const PolicyLadder> policies() const { return ladders_; }
    [[nodiscard]] const PolicyLadder* find(PolicyId id) const;  // null if unknown
    [[nodiscard]] std::size_t domain_of(PolicyId known) const { return demands_.domain_of(index_of_[known.value]); }
    [[nodiscard]] Khz f_ref() const { return f_ref_; }  // top of the fastest ladder; a UAFP is in kHz of that ladder

private:
    std::span<const Demand> measure(const Observation& seen, const Uafp* uafp);
    [[nodiscard]] Running running(const PolicySample& sample) const;
    std::optional<Lesson> descend(const Observation& seen, const Demand& demand, Uafp& uafp, Patience& patience,
                                  std::optional<ProbeEvent>& event);
    [[nodiscard]] Khz less(const Ladder& ladder, Khz value, const Patience& patience) const;
    [[nodiscard]] bool limited(Khz value) const;
    [[nodiscard]] bool at_limit() const;
    [[nodiscard]] bool at_top(Key key, const Demand& demand, const Uafp& uafp) const;
    Lesson learn(Key key, const Demand& demand, Uafp& uafp, bool refused);
    [[nodiscard]] Lesson lesson(Key key, const Demand& demand, Level level, Khz from, Khz to) const;
    [[nodiscard]] Khz taught(Key key, const Running& stepped, std::uint32_t faster_part) const;
    [[nodiscard]] Khz raised(const Ladder& ladder, Khz khz, std::uint32_t part, std::size_t doubled) const;
    [[nodiscard]] Khz entry(const Ladder& ladder, Khz wanted) const;
    [[nodiscard]] Level level_in_use(const Demand& demand) const;
    [[nodiscard]] Khz in_reference_khz(const Ladder& ladder, Khz khz) const;
    void decide(const Running& policy, Khz wanted);

    std::vector<PolicyLadder> ladders_;
    Settings settings_;
    Khz f_ref_;
    std::vector<std::uint16_t> index_of_;      // by policy id
    std::vector<std::optional<Khz>> decided_;  // the last decision for each policy
    Demands demands_;
    bool power_saver_ = false;  // in the present step
    bool governs_ = false;      // HAPPE has set the frequencies of the present period
    std::vector<Hold> holds_;   // of each domain
    Descent descent_;
    FasterSequence faster_;  // for this application
    // Members so that their memory is reused.
    std::vector<Khz> wanted_;  // of each domain, by the UAFP
    std::vector<Running> running_;
    std::vector<Target> targets_;
};

}  // namespace happe
