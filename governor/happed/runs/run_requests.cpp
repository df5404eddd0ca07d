// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/runs/run_requests.h"

#include "governor/documents/sealed_condition.h"
#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <utility>

namespace happe {
namespace {

using Kind = ServiceError::Kind;
using Sight = RunSession::Sight;

}  // namespace

Answer<std::string> RunRequests::start(const Caller& caller, const RunRequest& request) {
    if (session_) {
        return refusal(Kind::Busy, fmt::format("run {} is in progress", session_->code()));
    }
    if (attention_.state() != State::Serving && attention_.state() != State::Aside) {
        return refusal(Kind::Busy, "happed can serve no user: " + attention_.reason());
    }
    hooks_.begins();
    if (!request.sealed) {
        return begin(caller, request.plan, request.blind ? Sight::Blind : Sight::Open);
    }
    if (hardware_.observes()) {  // only kernel conditions could fail here, and this would reveal them
        return refusal(Kind::Failed, "happed only observes this machine: a sealed run needs a machine that it governs");
    }
    const auto plan = unseal(*request.sealed);
    if (!plan) {
        return tl::unexpected<ServiceError>(plan.error());
    }
    return begin(caller, *plan, Sight::Sealed).map_error([](const ServiceError&) {
        return ServiceError{Kind::Failed,
                            "this run cannot begin on this machine; the reason stays secret because the run is sealed"};
    });
}

Answer<RunPlan> RunRequests::unseal(const SealedRun& sealed) const {
    const auto opened = device_key_.open(sealed.seal).and_then(read_sealed_condition);
    if (!opened) {
        return refusal(Kind::InvalidArgument, "sealed: " + opened.error().message);
    }
    if (opened->study != sealed.study || opened->run != sealed.run) {
        return refusal(Kind::InvalidArgument, "sealed: belongs to another study or run");
    }
    return opened->plan;
}

Answer<std::string> RunRequests::begin(const Caller& caller, const RunPlan& plan, Sight sight) {
    const auto condition = condition_of(plan, hardware_.frequency().policies().front().ladder.size());
    if (!condition) {
        return refusal(Kind::InvalidArgument, condition.error().message);
    }
    if (!condition->is_happe() && hardware_.observes()) {
        return refusal(Kind::Failed, "happed only observes this machine: there is no kernel governor to study");
    }
    if (const Status taken = hardware_.takes(plan.epp); !taken) {
        return refusal(Kind::Failed, "epp: " + taken.error().message);
    }
    auto made = make({.owner = caller, .plan = plan, .condition = *condition, .sight = sight});
    if (!made) {
        return refusal(Kind::Failed, made.error().message);
    }
    session_ = *std::move(made);
    hooks_.changed();
    if (!condition->is_happe() && !hardware_.lent()) {
        static_cast<void>(end());
        return refusal(Kind::Failed, "the kernel's governor cannot be set: " + not_lent_);
    }
    const bool sets_epp = condition->is_happe() && !plan.epp.empty();
    if (const Status set = sets_epp ? hardware_.frequency().acquire() : Status(); !set) {
        static_cast<void>(end());
        return refusal(Kind::Failed, "epp: " + set.error().message);
    }
    log_.info(fmt::format("run {} begins", session_->code()));
    return session_->code();
}

Result<std::unique_ptr<RunSession>> RunRequests::make(RunSession::Terms terms) {
    const bool training = terms.condition.rule == RunCondition::Rule::Training;
    return (training ? erase(terms.plan) : Status())
        .and_then([&] { return known(terms.plan); })
        .and_then([&](std::vector<RunSession::Known> known) {
            terms.floor = hardware_.floor(Configuration().floor_percent);
            return RunSession::begin(traces_, std::move(terms), hardware_.frequency().policies(), std::move(known),
                                     monotonic_now());
        });
}

// Training begins without a profile: happed erases the profiles that the run would serve.
Status RunRequests::erase(const RunPlan& plan) {
    return known(plan).and_then([this](const std::vector<RunSession::Known>& known) {
        Status erased;
        for (const RunSession::Known& each : known) {
            erased = erased ? store_.erase(each.whom) : erased;
        }
        return erased;
    });
}

// Returns HAPPE's knowledge of the plan's application, or of each application with a profile of the subject.
Result<std::vector<RunSession::Known>> RunRequests::known(const RunPlan& plan) {
    const Served whom = RunSession::subject_of(plan);
    std::vector<RunSession::Known> all;
    if (!whom.app.empty()) {
        return store_.find(whom).map([&](const std::optional<Uafp>& profile) {
            all.push_back({.whom = whom, .profile = profile, .patience = store_.patience(whom)});
            return all;
        });
    }
    return store_.of_user(whom.user).map([&](const std::vector<StoredProfile>& profiles) {
        for (const StoredProfile& each : profiles) {
            all.push_back({.whom = each.whom, .profile = each.uafp, .patience = store_.patience(each.whom)});
        }
        return all;
    });
}

// A run that is on belongs to a bus name; a run that has ended belongs to the user who started it.
bool RunRequests::owns(const Caller& caller, const std::string& run) const {
    if (is_on(run)) {
        return session_->terms().owner.bus_name == caller.bus_name;
    }
    const auto kept = traces_.kept(run);
    return kept && kept->uid == caller.uid;
}

// The files of a blind run reveal its condition.
Answer<KeptRun> RunRequests::kept_for(const Caller& caller, const std::string& run) const {
    auto kept = traces_.kept(run);
    if (kept && kept->blind && kept->uid != caller.uid && caller.uid != 0) {
        return refusal(Kind::AccessDenied, "a blind run: only the client that started it may do this");
    }
    return kept;
}

Answer<FileDescriptor> RunRequests::stop(const Caller& caller, const std::string& run) {
    if (const auto kept = kept_for(caller, run); !kept) {
        return tl::unexpected<ServiceError>(kept.error());
    }
    if (is_on(run)) {
        if (const Status ended = end(); !ended) {
            return refusal(Kind::Failed, ended.error().message);
        }
    }
    return traces_.open(run);
}

Answer<std::string> RunRequests::facts(const Caller& caller, const std::string& run) {
    if (is_on(run)) {
        return refusal(Kind::Busy, fmt::format("run {} is in progress", run));
    }
    return kept_for(caller, run).and_then([](const KeptRun& kept) -> Answer<std::string> {
        return kept.facts.empty() ? refusal(Kind::NotFound, "happed ended before this run did: only its trace is left")
                                  : Answer<std::string>(kept.facts);
    });
}

Answer<PublicKey> RunRequests::device_key() {
    return device_key_.public_key().map_error(
        [](const Error& error) { return ServiceError{Kind::Failed, error.message}; });
}

void RunRequests::follow_attention() {
    lend_or_take_back();
    if (!session_) {
        return;
    }
    const MonoTime now = monotonic_now();
    RunFacts& facts = session_->facts();
    const auto& session = attention_.active_session();
    if (attention_.state() == State::Run) {
        facts.resumed(now);
    } else if (attention_.state() == State::Contested) {
        facts.interrupted(now, "contested", "");
    } else if (attention_.is_asleep()) {
        facts.interrupted(now, "suspended", "");
    } else if (session && session->locked) {
        facts.interrupted(now, "locked", "");
    } else {
        facts.interrupted(now, "other", attention_.reason());
    }
}

void RunRequests::lend_or_take_back() {
    const bool wanted = session_ && !session_->is_happe() && attention_.state() == State::Run;
    if (wanted && !hardware_.lent()) {
        if (const Status lent = hardware_.lend(session_->terms().condition, session_->terms().plan); !lent) {
            not_lent_ = lent.error().message;
            hooks_.failed(lent.error());
        }
    } else if (hardware_.lent() && !wanted) {
        take_back();
    }
}

void RunRequests::take_back() {
    if (const Status released = hardware_.release(); !released) {
        hooks_.failed(released.error());
    }
}

void RunRequests::turned() {
    if (session_ && !session_->facts().knows_machine() && attention_.state() == State::Run) {
        session_->facts().runs_on(hardware_.facts());
    }
}

void RunRequests::left(const std::string& bus_name) {
    if (session_ && session_->terms().owner.bus_name == bus_name) {
        log_.warning(fmt::format("run {} ends: the client that started it has left the bus; its trace is kept",
                                 session_->code()));
        if (const Status ended = end(); !ended) {
            log_.warning(ended.error().message);
        }
    }
}

Status RunRequests::end() {
    if (!session_) {
        return {};
    }
    log_.info(fmt::format("run {} ends", session_->code()));
    turned();
    take_back();
    const Status ended = session_->end(monotonic_now());
    const auto outlives_its_loop = std::exchange(session_, nullptr);
    hooks_.changed();
    return ended;
}

}  // namespace happe
