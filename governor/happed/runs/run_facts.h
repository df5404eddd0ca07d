// SPDX-License-Identifier: GPL-2.0-or-later
// The part of a study run's record that is not in its trace (profiles/schema/run-record.schema.json): lessons, the
// profile before and after, interruptions, and the machine.
#pragma once

#include "governor/core/turn_observer.h"
#include "governor/cpufreq/cpufreq.h"
#include "governor/documents/run_plan.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

// The laptop's current state.
struct MachineFacts {
    std::string cpu;      // /proc/cpuinfo's model name
    std::string driver;   // the first policy's, like the fields below
    std::string backend;  // its name on the bus
    std::string governor;
    Tunables tunables;
    std::string epp;  // the energy performance preference; empty: the driver has none
    std::string kernel;
};

// Unknown fields are "unknown".
MachineFacts look_at_machine(const Cpufreq& cpufreq, const std::string& backend);

class RunFacts {
public:
    static constexpr std::size_t kMostInterruptions = 1000;  // drops later ones

    // A run of every application has no profile in its facts.
    RunFacts(MonoTime started, const RunPlan& plan)
        : started_(started),
          indicator_(plan.indicator),
          raised_(plan.raised),
          one_profile_(!plan.application.empty()) {}

    void runs_on(MachineFacts machine) { machine_ = std::move(machine); }
    [[nodiscard]] bool knows_machine() const { return machine_.has_value(); }

    void turned(const Turn& turn);

    // `reason` is one of the schema's. An interruption lasts until resumed() or the next interrupted(). happened()
    // records a moment, once if it repeats with the same detail.
    void interrupted(MonoTime at, std::string_view reason, const std::string& detail);
    void resumed(MonoTime at);
    void happened(MonoTime at, std::string_view reason, const std::string& detail);

    // These members of a run record, as a document. `version` is happed's.
    [[nodiscard]] std::string document(MonoTime ended, const std::string& version) const;

private:
    struct Interruption {
        MonoTime from;
        std::optional<MonoTime> until;
        std::string reason;
        std::string detail;
    };
    struct Learned {
        MonoTime at;
        Lesson lesson;
        Uafp after;
    };

    MonoTime started_;
    bool indicator_;
    bool raised_;
    bool one_profile_;
    std::optional<Uafp> before_;
    std::optional<MachineFacts> machine_;
    std::vector<Learned> learned_;
    std::vector<Interruption> interruptions_;
    std::optional<std::size_t> lasting_;  // into interruptions_
};

}  // namespace happe
