// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/runs/run_session.h"

#include "governor/documents/trace_writer.h"
#include "governor/system/files.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace happe {
namespace {

// One step higher on the fastest ladder. A subject without a profile begins one step above the lowest.
Uafp raised(const std::optional<Uafp>& profile, std::span<const Policy> policies) {
    const auto top = [](const Policy& policy) { return policy.ladder.top(); };
    const Ladder& ladder = std::ranges::max_element(policies, {}, top)->ladder;
    Uafp::Values values = profile.value_or(Uafp(ladder.lowest())).values();
    std::ranges::transform(values, values.begin(), [&](Khz khz) { return ladder.above(khz); });
    return *Uafp::from(values);
}

}  // namespace

Served RunSession::subject_of(const RunPlan& plan) {
    return {.user = subject_name(plan), .app = plan.application};
}

Result<std::unique_ptr<RunSession>> RunSession::begin(RunTraces& traces, Terms terms, std::span<const Policy> policies,
                                                      std::vector<Known> known, MonoTime now) {
    std::unique_ptr<RunSession> run(new RunSession(traces, std::move(terms), policies, now));
    auto begun = traces.begin(run->kept());
    if (!begun) {
        return tl::unexpected<Error>(begun.error());
    }
    run->code_ = std::move(begun->run);
    run->trace_ = std::move(begun->trace);
    for (Known& each : run->terms_.plan.raised ? std::span(known) : std::span<Known>()) {
        each.profile = raised(each.profile, policies);
        each.patience = kRaisedPatience;
        run->own_.profiles.emplace(each.whom, *each.profile);
        run->own_.waits.emplace(each.whom, each.patience);
    }
    if (const Status headed = run->record(header_line(run->header(policies, known))); !headed) {
        traces.remove(run->code_);
        return tl::unexpected<Error>(headed.error());
    }
    return run;
}

RunSession::RunSession(RunTraces& traces, Terms terms, std::span<const Policy> policies, MonoTime now)
    : traces_(traces), terms_(std::move(terms)), domains_(domains_of(policies)), facts_(now, terms_.plan) {}

LoopSettings RunSession::settings() const {
    LoopSettings settings{.sham = terms_.plan.sham && is_happe(), .domains = domains_};
    if (terms_.condition.extended) {
        settings.algorithm = kExtended;
        settings.algorithm.floor = terms_.floor;
        settings.algorithm.silent_top = false;  // every press is a lesson of the study
    }
    return settings;
}

TraceHeader RunSession::header(std::span<const Policy> policies, std::span<const Known> known) const {
    const LoopSettings settings = this->settings();
    TraceHeader header{.settings = settings.algorithm,
                       .immediate = settings.feedback == Feedback::Immediate,
                       .period = settings.period,
                       .sham = settings.sham,
                       .epp = terms_.plan.epp,
                       .ladders = ladders_of(policies),
                       .domains = settings.domains,
                       .profiles = {}};
    for (const Known& each : known) {
        if (each.profile && is_happe()) {
            header.profiles.push_back({each.whom, *each.profile});
        }
        if (settings.algorithm.descent) {
            header.patience.emplace_back(each.whom, each.patience);
        }
    }
    return header;
}

Status RunSession::turned(const Turn& turn, std::optional<PowerSource> source) {
    facts_.turned(turn);
    return recorded_ ? record(observation_line(turn, source)) : Status();
}

Status RunSession::record(const std::string& line) {
    if (!write_all(trace_.get(), line)) {
        recorded_ = failure(fmt::format("the trace ends early: {}", std::generic_category().message(errno)));
    }
    return recorded_;
}

Status RunSession::close_trace() {
    if (recorded_ && ::fsync(trace_.get()) != 0 && errno != EINVAL) {  // EINVAL: a pipe
        recorded_ = failure(fmt::format("the trace: {}", std::generic_category().message(errno)));
    }
    trace_ = {};
    return recorded_;
}

Status RunSession::end(MonoTime now) {
    const Status traced = close_trace();
    KeptRun kept = this->kept();
    kept.facts = facts_.document(now, HAPPE_VERSION);
    const Status noted = traces_.keep(code_, kept);
    return traced ? noted : traced;
}

}  // namespace happe
