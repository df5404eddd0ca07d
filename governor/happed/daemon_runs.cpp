// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's study runs.
#include "governor/happed/daemon.h"

#include "governor/documents/sealed_condition.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

constexpr std::uint32_t kMostPercent = 100;

// A participant's profiles are apart from those of the machine's users.
Served whom_of(const RunPlan& plan) {
    return {.user = "subject:" + plan.subject, .app = plan.application};
}

Answer<void> check(const RunPlan& plan, const RunCondition& condition) {
    constexpr std::size_t kLongest = 240;  // with its prefix a subject is a name of at most 255 bytes
    if (plan.subject.empty() || plan.subject.size() > kLongest) {
        return refusal(Kind::InvalidArgument, fmt::format("subject: not 1 to {} bytes", kLongest));
    }
    if (plan.application.empty()) {
        return refusal(Kind::InvalidArgument, "application: missing");
    }
    if (plan.condition == "B-HAPPE" && !plan.indicator) {
        return refusal(Kind::InvalidArgument, "indicator: B-HAPPE has it");
    }
    if (condition.rule != RunCondition::Rule::Ondemand && (plan.sampling_rate_us || plan.up_threshold)) {
        return refusal(Kind::InvalidArgument, "sampling_rate_us, up_threshold: of ondemand only");
    }
    if (plan.up_threshold && (*plan.up_threshold == 0 || *plan.up_threshold > kMostPercent)) {
        return refusal(Kind::InvalidArgument, "up_threshold: not 1 to 100");
    }
    return {};
}

template <typename T>
Answer<T> in_terms_of_service(Result<T> result, Kind kind) {
    return std::move(result).map_error([&](const Error& error) { return ServiceError{kind, error.message}; });
}

}  // namespace

Answer<std::string> Daemon::start(const Caller& caller, const RunRequest& request) {
    if (run_) {
        return refusal(Kind::Busy, fmt::format("run {} is on", run_->code));
    }
    if (attention_.state() != State::Serving) {
        return refusal(Kind::Busy, "nobody can be served: " + attention_.reason());
    }
    if (!request.sealed) {
        return start(caller, request.plan, request.blind ? Sight::Blind : Sight::Open);
    }
    if (!control_) {  // or which conditions fail here would tell them
        return refusal(Kind::Failed, "this machine only observes: sealed runs need one that is governed");
    }
    const auto plan = unseal(*request.sealed);
    if (!plan) {
        return tl::unexpected<ServiceError>(plan.error());
    }
    return start(caller, *plan, Sight::Sealed).map_error([](const ServiceError&) {
        return ServiceError{Kind::Failed, "this run cannot begin on this machine; more is not said of a sealed run"};
    });
}

Answer<RunPlan> Daemon::unseal(const SealedRun& sealed) const {
    const auto opened = device_key_.open(sealed.seal).and_then(read_sealed_condition);
    if (!opened) {
        return refusal(Kind::InvalidArgument, "sealed: " + opened.error().message);
    }
    if (opened->study != sealed.study || opened->run != sealed.run) {
        return refusal(Kind::InvalidArgument, "sealed: is of another study or run");
    }
    return opened->plan;
}

Answer<std::string> Daemon::start(const Caller& caller, const RunPlan& plan, Sight sight) {
    const auto condition = parse_condition(plan.condition, machine_.frequency->policies().front().ladder.size());
    if (!condition) {
        return refusal(Kind::InvalidArgument, "condition: " + condition.error().message);
    }
    if (const auto checked = check(plan, *condition); !checked) {
        return tl::unexpected<ServiceError>(checked.error());
    }
    if (!condition->is_happe() && !control_) {
        return refusal(Kind::Failed, "this machine only observes: it has no kernel governor to study");
    }
    return begin_run({.code = {},
                      .owner = caller,
                      .condition = *condition,
                      .plan = plan,
                      .sight = sight,
                      .facts = {monotonic_now(), plan.indicator}});
}

// What the subject begins with, which in training is nothing.
Result<TraceHeader> Daemon::prepare(Run& run) {
    const Served whom = whom_of(run.plan);
    const bool training = run.condition.rule == RunCondition::Rule::Training;
    const Status erased = training ? store_->erase(whom) : Status();
    const auto before = erased.and_then([&] { return store_->find(whom); });
    if (!before) {
        return tl::unexpected<Error>(before.error());
    }
    run.facts.begins_with(*before);
    return trace_header({.sham = run.sham()}, run.condition.is_happe() ? std::optional(whom) : std::nullopt);
}

Answer<std::string> Daemon::begin_run(Run run) {
    auto begun = traces_.begin(run.kept());
    const auto header = begun ? prepare(run) : tl::unexpected<Error>(begun.error());
    if (!header) {
        return refusal(Kind::Failed, header.error().message);
    }
    run.code = begun->run;
    run_ = std::move(run);
    take_over();
    if (const Status traced = chronicle_.begin_trace(std::move(begun->trace), *header, run_->facts, run_->blind());
        !traced) {
        static_cast<void>(end_run());
        return refusal(Kind::Failed, traced.error().message);
    }
    attend();
    if (!run_->condition.is_happe() && !lent_) {
        static_cast<void>(end_run());
        return refusal(Kind::Failed, "the kernel's governor cannot be set: " + not_lent_);
    }
    journal_.info(fmt::format("run {} begins", run_->code));
    return run_->code;
}

// Gives the machine to a kernel condition.
Status Daemon::lend_machine() {
    Status lent;
    if (run_->condition.rule == RunCondition::Rule::Fixed) {
        lent = control_->fix(run_->condition.step);
    } else {
        KernelGovernor governor{.name = "ondemand", .tunables = {}};
        if (run_->plan.sampling_rate_us) {
            governor.tunables["sampling_rate"] = std::to_string(*run_->plan.sampling_rate_us);
        }
        if (run_->plan.up_threshold) {
            governor.tunables["up_threshold"] = std::to_string(*run_->plan.up_threshold);
        }
        lent = control_->lend(governor);
    }
    lent_ = lent.has_value();
    return lent;
}

// Once a run has ended, by the user, whatever the bus name.
bool Daemon::owns(const Caller& caller, const std::string& run) const {
    if (run_ && run_->code == run) {
        return run_->owner.bus_name == caller.bus_name;
    }
    const auto kept = traces_.kept(run);
    return kept && kept->uid == caller.uid;
}

// What a blind run leaves tells its condition.
Answer<KeptRun> Daemon::kept_for(const Caller& caller, const std::string& run) const {
    auto kept = in_terms_of_service(traces_.kept(run), Kind::NotFound);
    if (kept && kept->blind && kept->uid != caller.uid && caller.uid != 0) {
        return refusal(Kind::AccessDenied, "a blind run: it is for who started it");
    }
    return kept;
}

Answer<FileDescriptor> Daemon::stop(const Caller& caller, const std::string& run) {
    if (const auto kept = kept_for(caller, run); !kept) {
        return tl::unexpected<ServiceError>(kept.error());
    }
    if (run_ && run_->code == run) {
        if (const Status ended = end_run(); !ended) {
            return refusal(Kind::Failed, ended.error().message);
        }
    }
    return in_terms_of_service(traces_.open(run), Kind::NotFound);
}

Answer<std::string> Daemon::facts(const Caller& caller, const std::string& run) {
    if (run_ && run_->code == run) {
        return refusal(Kind::Busy, fmt::format("run {} is on", run));
    }
    return kept_for(caller, run).and_then([](const KeptRun& kept) -> Answer<std::string> {
        return kept.facts.empty() ? refusal(Kind::NotFound, "happed ended before this run did: it has a trace alone")
                                  : Answer<std::string>(kept.facts);
    });
}

Answer<PublicKey> Daemon::device_key() {
    return in_terms_of_service(device_key_.public_key(), Kind::Failed);
}

// Makes room for the run: another loop, another focus, and what the bus shows of it.
void Daemon::take_over() {
    const Served whom = whom_of(run_->plan);
    end_turns();
    attention_.run(RunFocus{.whom = whom, .happe = run_->condition.is_happe()});
    new_loop(loop_settings());
    static_cast<void>(chronicle_.end_trace());
    shown_.run = run_->code;
    shown_.indicator = run_->plan.indicator;
    shown_.run_subject = whom.user;
    shown_.blind = run_->blind();
    shown_.run_viewer = run_->sight == Sight::Blind ? run_->owner.bus_name : std::string();
}

// What comes between the subject and the application, as far as the daemon knows.
void Daemon::follow_run() {
    if (!run_) {
        return;
    }
    const MonoTime now = monotonic_now();
    const auto& session = attention_.active_session();
    if (attention_.state() == State::Run) {
        run_->facts.resumed(now);
    } else if (attention_.state() == State::Contested) {
        run_->facts.interrupted(now, "contested", "");
    } else if (logind_.asleep()) {
        run_->facts.interrupted(now, "suspended", "");
    } else if (session && session->locked) {
        run_->facts.interrupted(now, "locked", "");
    } else {
        run_->facts.interrupted(now, "other", attention_.reason());
    }
}

// Once the run's governor is in force, which for HAPPE is after the first turn.
void Daemon::look_at_run() {
    if (run_ && !run_->facts.knows_machine() && attention_.state() == State::Run) {
        run_->facts.runs_on(look_at_machine(cpufreq_, shown_.backend));
    }
}

Status Daemon::end_run() {
    journal_.info(fmt::format("run {} ends", run_->code));
    look_at_run();
    end_turns();
    give_back();
    const Status traced = chronicle_.end_trace();
    KeptRun kept = run_->kept();
    kept.facts = run_->facts.document(monotonic_now(), HAPPE_VERSION);
    const Status noted = traces_.keep(run_->code, kept);
    run_.reset();
    attention_.run(std::nullopt);
    shown_.run.clear();
    shown_.indicator = true;
    shown_.run_subject.clear();
    shown_.blind = false;
    shown_.run_viewer.clear();
    new_loop(loop_settings());
    attend();
    return traced ? noted : traced;
}

}  // namespace happe
