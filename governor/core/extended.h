// SPDX-License-Identifier: GPL-2.0-or-later
// Mode `extended`: HAPPE's work beyond Algorithms 3 and 4. docs/traces.md states the rules. This file and extended.cpp
// have its parts, and governor.cpp calls them. Pure, in integers, and without allocation, like the rest of the core.
//
//   hold      The highest level of some time counts for look-ups and for learning, so that a short calm does not slow
//             the application down.
//   descent   People seldom press "save power", so HAPPE tries less by itself. After a quiet time it lowers a learned
//             value by a step, for a minute. This is a probe. A press of "faster" refuses it; otherwise HAPPE learns
//             the lower value, if somebody was there. Each press of "faster" doubles the quiet time before the next
//             probe.
//   felt      A probe is only where a person can feel it: where HAPPE's frequency slows the application in front.
//   again     A press of "faster" goes further if another one came shortly before it.
#pragma once

#include "governor/core/demand.h"
#include "governor/core/uafp.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace happe {

// The highest recent level of a domain.
class Hold {
public:
    // Records the level of a period that ends at `at`. Levels of the last `held` count.
    void see(Level level, MonoTime at, Micros held);
    void forget() { *this = {}; }
    [[nodiscard]] Level level() const { return level_; }

private:
    std::array<std::optional<MonoTime>, Uafp::kLevels> seen_;
    Level level_;
};

// The memory of descent for a profile, besides the UAFP.
struct Patience {
    static constexpr Micros kFirst = std::chrono::seconds{120};
    static constexpr Micros kLeastPressed = std::chrono::seconds{600};
    static constexpr Micros kMost = std::chrono::seconds{3'600};

    Micros wait = kFirst;  // the quiet time before a probe
    Micros quiet{0};       // the passed part of that time
    bool operator==(const Patience&) const = default;
};

// The patience at the start of a raised run of a study: the least one with probes of single steps. A person who presses
// no key then meets a probe every 190 s.
inline constexpr Patience kRaisedPatience{.wait = std::chrono::seconds{130}};

// The result of a probe in a period. A press of "save power" ends the probe, because the press is the better lesson.
enum class ProbeEvent : std::uint8_t { Begun, Accepted, Refused, Ended };

// The names in decisions.
constexpr const char* name_of(ProbeEvent event) {
    return std::array{"begun", "accepted", "refused", "ended"}.at(static_cast<std::size_t>(event));
}

// Runs one probe at a time. While a probe runs, the caller's UAFP has the probe's values. To cancel a probe, the caller
// continues with another UAFP, or with this one as it was before, and calls forget().
class Descent {
public:
    static constexpr Micros kAccepted = std::chrono::seconds{60};  // after this time without a refusal
    static constexpr Micros kApart = std::chrono::seconds{120};    // between the starts of two probes
    static constexpr Micros kLongestLine = std::chrono::seconds{10};
    static constexpr std::size_t kFirstSteps = 8;  // a first probe goes down by this fraction of the ladder

    struct Probe {
        Uafp before;
        Uafp lower;  // the values that it tries
        Level level;
        MonoTime begun{};
        Micros quiet{0};
    };

    // What a period has for a probe.
    struct Chance {
        Level level;
        Khz lower;    // what a probe would learn at this level
        bool binds;   // the machine would run faster without HAPPE
        Micros idle;  // the longest time since somebody used the machine
    };

    // Call first in a period that ends at `at`. Then call one of the three functions below, or none.
    void pass(MonoTime at);
    void forget();

    // Call when a press counts, before it teaches. Ends a probe: `uafp` then has its values from before the probe.
    std::optional<ProbeEvent> pressed(Key key, Uafp& uafp, Patience& patience);

    // Call in a period without such a press in which nobody could feel a probe. Ends it, as above.
    std::optional<ProbeEvent> stop(ProbeEvent how, Uafp& uafp);

    // Call in any other period without such a press. Accepts no probe that nobody may have felt.
    std::optional<ProbeEvent> quiet(const Chance& chance, Uafp& uafp, Patience& patience);

    [[nodiscard]] const std::optional<Probe>& probe() const { return probe_; }

private:
    std::optional<Probe> probe_;
    std::optional<MonoTime> now_;
    std::optional<MonoTime> begun_;  // start of the last probe
    Micros passed_{0};               // in this period
};

// Whether the policy would run faster without HAPPE.
[[nodiscard]] bool is_bound(const Running& policy);

// Whether the application in front has used half of the used CPU time, or less. `front`: in ppm of one CPU.
[[nodiscard]] bool is_work_of_others(std::span<const Running> policies, Ppm front);

// Presses of "faster" that follow each other soon: the person is far from what they need.
class FasterSequence {
public:
    // Call for each press that teaches. `soon`: the longest time between two presses of a sequence.
    void pressed(Key key, MonoTime at, Micros soon);
    void forget() { *this = {}; }
    [[nodiscard]] std::size_t repeats() const { return repeats_; }  // the presses before the last one, at most 6

private:
    std::optional<MonoTime> last_;
    std::size_t repeats_ = 0;
};

}  // namespace happe
