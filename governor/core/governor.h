// SPDX-License-Identifier: GPL-2.0-or-later
// HAPPE's frequency controller: Algorithms 3 and 4 of the paper (section A.4), for any number of policies.
//
// What was seen over a period goes in, what to do comes out. No clock, no input or output, no allocation after
// construction. docs/traces.md states the rules; governor.cpp is the algorithm.
#pragma once

#include "governor/core/ladder.h"
#include "governor/core/uafp.h"

#include <optional>
#include <span>
#include <vector>

namespace happe {

// What the paper does not have, each off by default. docs/traces.md, "Settings beyond the paper".
struct Settings {
    Ppm hysteresis{0};         // how far past its level's border a utilisation may stray without leaving the level
    bool fixed_point = false;  // climb to what is already learned at once, not a step a period
    bool warm_start = false;   // an unknown application starts from the user's others (see ProfileBook)
    bool operator==(const Settings&) const = default;
};

struct PolicyLadder {
    PolicyId id;
    Ladder ladder;
};

struct PolicySample {
    PolicyId id;
    std::optional<Khz> current;  // left out: what was decided last, else the lowest frequency
    Ppm utilisation;             // of the policy's busiest CPU
};

struct Observation {
    std::span<const PolicySample> policies;  // ascending ids, all of them known
    std::optional<Key> key;                  // that counts in this period (PressSeries)
};

struct Target {
    PolicyId policy;
    Khz khz;
    bool operator==(const Target&) const = default;
};

// One entry of a UAFP taught by one press.
struct Lesson {
    Key key = Key::Performance;
    PolicyId policy;
    Level level;
    Khz from;         // the UAFP's entry at this level before
    Khz to;           // and after, in the kHz of the fastest ladder
    Khz current;      // the frequency at which the key was pressed
    Ppm utilisation;  // of the policy's busiest CPU in that period
    bool operator==(const Lesson&) const = default;
};

struct Decision {
    bool released = false;            // nobody to serve: the machine is its own
    std::span<const Target> targets;  // policies whose frequency changes, ascending ids; valid until the next step
    std::optional<Lesson> lesson;     // already in the UAFP
};

class Governor {
public:
    // `policies`: at least one, ascending ids.
    Governor(std::vector<PolicyLadder> policies, Settings settings);

    // Once a period. `uafp`: the profile of whom and what is being served, which may learn; null if there is nobody.
    Decision step(const Observation& seen, Uafp* uafp);

    // Another user or application is served from the next step on.
    void forget_levels();

    // The profile that nobody has taught: every policy at its lowest frequency.
    [[nodiscard]] Uafp untaught() const;

    [[nodiscard]] std::span<const PolicyLadder> policies() const { return ladders_; }
    [[nodiscard]] const PolicyLadder* find(PolicyId id) const;  // null if unknown
    [[nodiscard]] Khz f_ref() const { return f_ref_; }          // the fastest ladder's top, whose kHz a UAFP speaks

private:
    // A listed policy within a step.
    struct Running {
        std::size_t index = 0;  // into ladders_ and states_
        Khz current;
        Ppm utilisation;
        NormalisedUtilisation normalised;
    };
    struct State {
        std::optional<Khz> decided;
        std::optional<Level> level;  // for hysteresis
    };

    [[nodiscard]] Running running(const PolicySample& sample) const;
    [[nodiscard]] const Running* busiest() const;
    Lesson learn(Key key, const Running& policy, Uafp& uafp);
    Khz look_up(const Running& policy, const Uafp& uafp);
    [[nodiscard]] Level settled_level(const Running& policy) const;
    [[nodiscard]] Khz climb(const Running& policy, const Uafp& uafp, Khz first) const;
    [[nodiscard]] static NormalisedUtilisation normalise(const Ladder& ladder, Khz khz, Ppm utilisation);
    [[nodiscard]] Khz in_reference_khz(const Ladder& ladder, Khz khz) const;
    void decide(const Running& policy, Khz next);

    std::vector<PolicyLadder> ladders_;
    Settings settings_;
    Khz f_ref_;
    std::vector<std::uint16_t> index_of_;  // by policy id
    std::vector<State> states_;
    std::vector<Running> running_;  // kept for its memory
    std::vector<Target> targets_;
};

}  // namespace happe
