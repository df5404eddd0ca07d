// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/bus.h"
#include "governor/core/loop.h"
#include "governor/core/memory_profiles.h"
#include "governor/documents/trace_reader.h"
#include "governor/happed/runs/run_condition.h"
#include "governor/happed/runs/run_facts.h"
#include "governor/happed/runs/run_traces.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace happe {

// A study's run on this machine: its owner, the subject that it serves, and the files that it writes, a trace
// (docs/traces.md) and facts (run_facts.h). docs/dbus.md, "A run".
class RunSession {
public:
    // Limits who may see the private properties and the subject's profiles during the run. Open: everyone who may see
    // them outside a run. Blind: only the run's owner. Sealed: nobody.
    enum class Sight : std::uint8_t { Open, Blind, Sealed };
    struct Terms {
        Caller owner;
        RunPlan plan;
        RunCondition condition;  // the plan's
        Sight sight = Sight::Blind;
        Khz floor{0};  // of probes
    };

    // HAPPE's knowledge of the subject's use of an application at the start of the run.
    struct Known {
        Served whom;
        std::optional<Uafp> profile;
        Patience patience;  // with mode `extended`
    };

    // The subject as the database names it: its profiles are separate from those of the machine's users.
    [[nodiscard]] static std::string subject_name(const RunPlan& plan) { return "subject:" + plan.subject; }

    // The user whom the run serves. In a run of every application, `app` is empty.
    [[nodiscard]] static Served subject_of(const RunPlan& plan);

    // Creates the run's files in `traces`, which must outlive the run, and writes the trace's header. `policies`: the
    // machine's. `known` has the run's one application, or each application that has a profile. A raised run begins one
    // step higher than these profiles, and with kRaisedPatience.
    static Result<std::unique_ptr<RunSession>> begin(RunTraces& traces, Terms terms, std::span<const Policy> policies,
                                                     std::vector<Known> known, MonoTime now);

    [[nodiscard]] const std::string& code() const { return code_; }
    [[nodiscard]] const Terms& terms() const { return terms_; }
    [[nodiscard]] bool is_happe() const { return terms_.condition.is_happe(); }
    [[nodiscard]] bool blind() const { return terms_.sight != Sight::Open; }
    [[nodiscard]] LoopSettings settings() const;  // the paper's, or those of mode `extended`

    // The store for the run's loop: `store`, or for a raised run one that ends with the run, so that every raised run
    // of a subject begins with the same profile.
    [[nodiscard]] ProfileStore& profiles(ProfileStore& store) { return terms_.plan.raised ? own_ : store; }

    // Interruptions, lessons and the machine. Lives as long as the run.
    [[nodiscard]] RunFacts& facts() { return facts_; }

    // Writes a line of the trace and notes lessons. The trace ends at the first error, so that it has no gaps.
    [[nodiscard]] Status turned(const Turn& turn, std::optional<PowerSource> source = {});

    // Writes the facts. Trace and facts are on the disk when this returns. Call once.
    [[nodiscard]] Status end(MonoTime now);

private:
    RunSession(RunTraces& traces, Terms terms, std::span<const Policy> policies, MonoTime now);
    [[nodiscard]] TraceHeader header(std::span<const Policy> policies, std::span<const Known> known) const;
    [[nodiscard]] Status record(const std::string& line);
    [[nodiscard]] Status close_trace();
    [[nodiscard]] KeptRun kept() const { return {.uid = terms_.owner.uid, .blind = blind(), .facts = {}}; }

    RunTraces& traces_;
    Terms terms_;
    Domains domains_;
    std::string code_;
    FileDescriptor trace_;
    Status recorded_;
    RunFacts facts_;
    MemoryProfiles own_;
};

}  // namespace happe
