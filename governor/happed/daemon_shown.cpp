// SPDX-License-Identifier: GPL-2.0-or-later
// What happed shows of itself: the properties on the bus, and the limits and preferences in the journal.
#include "governor/happed/daemon.h"

#include "governor/system/monotonic_clock.h"

namespace happe {
namespace {

constexpr const char* kFailing = "failing";

const char* state_name(State state, bool observing) {
    switch (state) {
        case State::Serving:
            return observing ? "observing" : "governing";
        case State::Released:
        case State::Aside:
            return "released";
        case State::Held:
            return "held";
        case State::Run:
            return "run";
        case State::Contested:
            return "contested";
    }
    return "released";
}

}  // namespace

void Daemon::show() {
    const auto keyboards = static_cast<std::uint32_t>(presses_.keyboards());
    if (RunSession* const run = runs_.session(); run != nullptr && keyboards < shown_.keyboards) {
        run->facts().happened(monotonic_now(), "keyboard-lost", "");
    }
    shown_.keyboards = keyboards;
    shown_.holds = attention_requests_.holds();
    shown_.savers = attention_requests_.savers();
    shown_.power_profile = power_profiles_.active();
    if (shown_.power_profile == PowerProfiles::kPowerSaver) {
        shown_.savers.push_back({"power profile", shown_.power_profile});
    }
    shown_.source = power_.source() ? name_of(*power_.source()) : "";
    show_attention();
    show_hardware();
    show_run();
    shown_.database = shown_.blind ? std::string() : told_of_store_;
    bus_.changed();
}

void Daemon::show_machine() {
    const auto policies = hardware_->frequency().policies();
    shown_.policies.assign(policies.begin(), policies.end());
    shown_.backend = hardware_->backend();
}

void Daemon::show_settings() {
    shown_.settings.clear();
    for (auto& [name, value] : describe_settings(configuration_)) {
        shown_.settings.emplace(name, std::move(value));
    }
}

void Daemon::show_attention() {
    const bool serving = attention_.state() == State::Serving;
    const bool failing = serving && !hardware_->errors().empty();
    shown_.state = failing ? kFailing : state_name(attention_.state(), hardware_->observes());
    shown_.reason = serving ? trouble() : attention_.reason();
    const auto& session = attention_.active_session();
    shown_.served_uid = session ? std::optional(session->uid) : std::nullopt;
    const Served* const whom = attention_.served();
    const std::string user = whom != nullptr ? whom->user : "";
    const std::string application = whom != nullptr ? profile_name(*whom) : "";
    if (user != shown_.user || application != shown_.application) {  // unknown until the next turn
        shown_.profile.reset();
        shown_.descent = {};
        shown_.sample.clear();
    }
    shown_.user = user;
    shown_.application = application;
}

// Why HAPPE does not govern a policy, or governs without its preference.
std::string Daemon::trouble() const {
    return in_words(hardware_->errors().empty() ? hardware_->epp_errors() : hardware_->errors());
}

void Daemon::show_run() {
    const RunSession* const run = runs_.session();
    const bool one = run != nullptr;
    shown_.run = one ? run->code() : std::string();
    shown_.indicator = !one || run->terms().plan.indicator;
    shown_.run_subject = one ? RunSession::subject_name(run->terms().plan) : std::string();
    shown_.blind = one && run->blind();
    shown_.run_viewer =
        one && run->terms().sight == RunSession::Sight::Blind ? run->terms().owner.bus_name : std::string();
}

// Shows limits and errors while HAPPE serves somebody outside a run. A run's facts contain the run's errors.
void Daemon::show_hardware() {
    shown_.limits.clear();
    shown_.errors.clear();
    shown_.epp.clear();
    if (attention_.state() != State::Serving) {
        return;
    }
    const bool prefers =
        !hardware_->observes() && !hardware_->leaves_epp() && hardware_->epp_errors().size() < shown_.policies.size();
    shown_.epp = prefers ? epp() : std::string();
    shown_.limits = hardware_->limits();
    for (const PolicyError& error : hardware_->errors()) {
        if (error.policy) {
            shown_.errors.push_back({*error.policy, error.message});
        }
    }
}

// During a blind run the limits go into the run's facts: the journal must not show frequencies.
void Daemon::tell_limits(MonoTime now) {
    auto limits = hardware_->limits();
    if (limits == told_limits_) {
        return;
    }
    told_limits_ = std::move(limits);
    RunSession* const run = runs_.session();
    if (run != nullptr && run->blind()) {
        run->facts().happened(now, "other", in_words(told_limits_));
    } else {
        log_.notice(in_words(told_limits_), now);
    }
}

// Once for each text. No run has such errors, because it needs its preference.
void Daemon::tell_epp(MonoTime now) {
    std::string text = in_words(hardware_->epp_errors());
    if (!text.empty() && text != told_epp_) {
        log_.notice(text + ": HAPPE governs without this preference", now);
        told_epp_ = std::move(text);
    }
}

}  // namespace happe
