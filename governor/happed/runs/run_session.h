// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/services.h"
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

// A study's run on this machine, from its first line to its record: its owner, the subject that it serves, and what it
// leaves, a trace (docs/traces.md) and facts beside it (run_facts.h). docs/daemon.md, "Study runs".
class RunSession {
public:
    // Who sees the private properties and the subject's profiles while it runs: who may anyway, its owner, nobody.
    enum class Sight : std::uint8_t { Open, Blind, Sealed };
    struct Terms {
        Caller owner;
        RunPlan plan;
        RunCondition condition;  // the plan's
        Sight sight = Sight::Blind;
    };

    // What HAPPE knows of the subject and an application as the run begins.
    struct Known {
        Served whom;
        std::optional<Uafp> profile;
        Patience patience;  // with mode `extended`
    };

    // Whom a plan's run serves: a participant's profiles are apart from those of the machine's users. In a run of every
    // application its `app` is empty.
    [[nodiscard]] static Served subject_of(const RunPlan& plan);

    // Makes its files in `traces`, which outlives it, and writes the trace's header. `policies`: the machine's.
    // `known`: of the run's one application, or of each that has a profile. A run of raised profiles begins one step
    // higher than these, and with kRaisedPatience.
    static Result<std::unique_ptr<RunSession>> begin(RunTraces& traces, Terms terms, std::span<const Policy> policies,
                                                     std::vector<Known> known, MonoTime now);

    [[nodiscard]] const std::string& code() const { return code_; }
    [[nodiscard]] const Terms& terms() const { return terms_; }
    [[nodiscard]] bool is_happe() const { return terms_.condition.is_happe(); }
    [[nodiscard]] bool blind() const { return terms_.sight != Sight::Open; }
    [[nodiscard]] LoopSettings settings() const;  // the paper's, or those of mode `extended`

    // Where its loop finds and stores profiles: in `store`; but what a raised run learns ends with the run, so that
    // every raised run of a subject begins with the same profile.
    [[nodiscard]] ProfileStore& profiles(ProfileStore& store) { return terms_.plan.raised ? own_ : store; }

    // What came between, and the machine. Lives as long as the run.
    [[nodiscard]] RunFacts& facts() { return facts_; }

    // A line of the trace, and what was learned. The first line that cannot be written is an error and the last: a
    // trace has no gaps.
    [[nodiscard]] Status turned(const Turn& turn, std::optional<PowerSource> source = {});

    // Trace and facts are on the disk; an error of either. Call once.
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
