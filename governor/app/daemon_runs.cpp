// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's study runs.
#include "governor/app/daemon.h"

#include <fmt/format.h>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

constexpr std::uint32_t kMostPercent = 100;

// A participant's profiles are apart from those of the machine's users.
Served whom_of(const RunRequest& request) {
    return {.user = "subject:" + request.subject, .app = request.application};
}

Answer<void> check(const RunRequest& request, const RunCondition& condition) {
    constexpr std::size_t kLongest = 240;  // with its prefix a subject is a name of at most 255 bytes
    if (request.subject.empty() || request.subject.size() > kLongest) {
        return refusal(Kind::InvalidArgument, fmt::format("subject: not 1 to {} bytes", kLongest));
    }
    if (request.application.empty()) {
        return refusal(Kind::InvalidArgument, "application: missing");
    }
    if (condition.rule != RunCondition::Rule::Ondemand && (request.sampling_rate_us || request.up_threshold)) {
        return refusal(Kind::InvalidArgument, "sampling_rate_us, up_threshold: of ondemand only");
    }
    if (request.up_threshold && (*request.up_threshold == 0 || *request.up_threshold > kMostPercent)) {
        return refusal(Kind::InvalidArgument, "up_threshold: not 1 to 100");
    }
    return {};
}

}  // namespace

Answer<std::string> Daemon::start(const Caller& caller, const RunRequest& request) {
    if (run_) {
        return refusal(Kind::Busy, fmt::format("run {} is on", run_->code));
    }
    if (attention_.state() != State::Serving) {
        return refusal(Kind::Busy, "nobody can be served: " + attention_.reason());
    }
    const auto condition = parse_condition(request.condition, machine_.frequency->policies().front().ladder.size());
    if (!condition) {
        return refusal(Kind::InvalidArgument, "condition: " + condition.error().message);
    }
    if (const auto checked = check(request, *condition); !checked) {
        return tl::unexpected<ServiceError>(checked.error());
    }
    if (!condition->is_happe() && !control_) {
        return refusal(Kind::Failed, "this machine only observes: it has no kernel governor to study");
    }
    const Served whom = whom_of(request);
    auto begun = traces_.begin();
    if (begun && condition->rule == RunCondition::Rule::Training) {
        if (const Status erased = store_->erase(whom); !erased) {
            return refusal(Kind::Failed, erased.error().message);
        }
    }
    const auto header = trace_header({}, condition->is_happe() ? std::optional(whom) : std::nullopt);
    if (!header || !begun) {
        return refusal(Kind::Failed, !header ? header.error().message : begun.error().message);
    }
    return begin_run({begun->run, caller.bus_name, *condition, request}, std::move(begun->trace), *header);
}

Answer<std::string> Daemon::begin_run(Run run, FileDescriptor trace, const TraceHeader& header) {
    std::string code = run.code;
    run_ = std::move(run);
    end_turns();
    attention_.run(RunFocus{.whom = whom_of(run_->request), .happe = run_->condition.is_happe()});
    new_loop(loop_settings());
    static_cast<void>(chronicle_.end_trace());
    if (const Status traced = chronicle_.begin_trace(std::move(trace), header, true); !traced) {
        static_cast<void>(end_run());
        return refusal(Kind::Failed, traced.error().message);
    }
    shown_.run = code;
    shown_.run_subject = whom_of(run_->request).user;
    shown_.blind_run_owner = run_->request.blind ? run_->owner : std::string();
    attend();
    if (!run_->condition.is_happe() && !lent_) {
        static_cast<void>(end_run());
        return refusal(Kind::Failed, "the kernel's governor cannot be set; the journal of happed says why");
    }
    journal_.info(fmt::format("run {} begins", code));
    return code;
}

// Gives the machine to a kernel condition.
Status Daemon::lend_machine() {
    Status lent;
    if (run_->condition.rule == RunCondition::Rule::Fixed) {
        lent = control_->fix(run_->condition.step);
    } else {
        KernelGovernor governor{.name = "ondemand", .tunables = {}};
        if (run_->request.sampling_rate_us) {
            governor.tunables["sampling_rate"] = std::to_string(*run_->request.sampling_rate_us);
        }
        if (run_->request.up_threshold) {
            governor.tunables["up_threshold"] = std::to_string(*run_->request.up_threshold);
        }
        lent = control_->lend(governor);
    }
    lent_ = lent.has_value();
    return lent;
}

bool Daemon::owns(const Caller& caller, const std::string& run) const {
    return run_ && run_->code == run && run_->owner == caller.bus_name;
}

Answer<FileDescriptor> Daemon::stop(const std::string& run) {
    if (run_ && run_->code == run) {
        if (const Status ended = end_run(); !ended) {
            return refusal(Kind::Failed, ended.error().message);
        }
    }
    return traces_.open(run).map_error([](const Error& error) { return ServiceError{Kind::NotFound, error.message}; });
}

Status Daemon::end_run() {
    journal_.info(fmt::format("run {} ends", run_->code));
    const Status traced = chronicle_.end_trace();
    end_turns();
    run_.reset();
    attention_.run(std::nullopt);
    shown_.run.clear();
    shown_.run_subject.clear();
    shown_.blind_run_owner.clear();
    new_loop(loop_settings());
    attend();
    return traced;
}

}  // namespace happe
