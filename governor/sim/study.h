// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates the paper's user studies: every participant, application and condition, with the daemon's loop.
#pragma once

#include "governor/core/memory_profiles.h"
#include "governor/core/turn_observer.h"
#include "governor/core/uafp.h"
#include "governor/sim/participants_document.h"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace happe {

enum class Rule : std::uint8_t {
    Ondemand,     // as in the paper's kernel
    OndemandNow,  // as since Linux 3.9
    Conservative,
    Performance,
    Powersave,
    FixedLevel,
    Udfs,
    Oracle,
    THappe,  // training: an empty UAFP
    OHappe,  // operating: T-HAPPE's last UAFP
    BHappe,  // with the battery indicator: O-HAPPE's last UAFP
};

struct Condition {
    Rule rule = Rule::Ondemand;
    std::size_t level = 0;  // for FixedLevel: 1 is the lowest frequency

    [[nodiscard]] std::string name() const;  // "ondemand", "T-HAPPE", "fixed-3"
    static std::optional<Condition> named(std::string_view name);
    static std::vector<std::string> names();
    [[nodiscard]] bool is_happe() const { return rule >= Rule::THappe; }
    bool operator==(const Condition&) const = default;
};

struct StudyPlan {
    Participants participants;
    std::size_t count = 24;
    std::vector<Condition> conditions;  // the order for each application; O-HAPPE after T-HAPPE, B-HAPPE after O-HAPPE
    bool shuffled = false;              // section A.3: conditions in random order
    Micros run_time = std::chrono::minutes{2};
};

StudyPlan paper_plan();  // section A.5: ondemand, T-, O-, B-HAPPE and the oracle
StudyPlan a3_plan();     // section A.3: ten participants, five fixed levels in random order

struct RunResult {
    std::uint64_t seed = 0;
    std::size_t participant = 0;  // from 0
    std::size_t application = 0;  // index into the plan's
    Condition condition;
    std::size_t again = 0;  // earlier runs of this participant, application and condition
    sim::Person person;
    sim::Taste taste;
    double watts = 0.0;        // mean over the run
    double utilisation = 0.0;  // of CPU 0, mean over the run, 0 to 1
    int rating = 0;
    int performance_presses = 0;
    int power_presses = 0;
    std::array<double, 5> state_seconds{};  // time in each of the ladder's frequencies
    std::optional<Uafp> uafp;               // at the end of a HAPPE run
};

struct StudyHooks {
    std::function<void()> run_done;  // for a progress bar; called from the thread that runs the study
    // Takes a run's trace (docs/traces.md) a line at a time; empty if nobody wants it.
    std::function<void(const RunResult& which, const std::string& line)> trace;
    std::function<void(const RunResult& which, const Turn&)> turned;
    std::function<void(double watts)> drew;  // power of the machine in each step of kStudyStep
};

inline constexpr Micros kStudyStep{40'000};  // divides ondemand's 80 ms and the loop's 1 s

// A run to play: its participant (from 0), its application (an index into the plan's), and its condition.
struct Play {
    std::size_t participant = 0;
    std::size_t application = 0;
    Condition condition;
    std::string user;  // in traces and profiles
    MonoTime began;    // the first time in its trace
};

// One seed's participants. A run's random draws depend on its labels and on the number of earlier runs with them.
// Profiles last from run to run.
class Cohort {
public:
    // Keeps a reference to the plan.
    Cohort(const StudyPlan& plan, std::uint64_t seed);

    [[nodiscard]] const std::vector<sim::Person>& people() const { return people_; }
    RunResult play(const Play& what, const StudyHooks& hooks);

private:
    [[nodiscard]] sim::Taste taste(const Play& what) const;

    const StudyPlan& plan_;
    std::uint64_t seed_;
    std::vector<sim::Person> people_;
    MemoryProfiles profiles_;
    std::map<std::tuple<std::size_t, std::size_t, std::string>, std::size_t> played_;  // by labels
};

// Makes all runs of one seed, in the order of participant, application, condition.
std::vector<RunResult> run_study(const StudyPlan& plan, std::uint64_t seed, const StudyHooks& hooks);

}  // namespace happe
