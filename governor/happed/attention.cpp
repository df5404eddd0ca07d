// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/attention.h"

#include <utility>

namespace happe {
namespace {

constexpr std::size_t kLongestProfileName = 255;  // of a profile, in bytes: docs/dbus.md

}  // namespace

void Attention::session(const std::optional<Session>& active) {
    session_ = active;
    was_idle_ = was_idle_ || is_idle();
    decide();
}

void Attention::input(std::optional<bool> idle) {
    agent_idle_ = idle;
    agent_of_ = session_ ? std::optional(session_->uid) : std::nullopt;
    was_idle_ = was_idle_ || is_idle();
}

std::string Attention::cgroup_in_front() const {
    return session_ && application_of_ == session_->uid ? cgroup_ : std::string();
}

// In a run of one application, the participant looks at nothing else.
Ppm Attention::front(Micros lasted) const {
    if (has_participant()) {
        return kMostWork;
    }
    if (lasted <= Micros{0}) {
        return Ppm{0};
    }
    if (front_used_.count() / lasted.count() >= kMostWork.value / kOne.value) {
        return kMostWork;
    }
    return Ppm{static_cast<std::uint32_t>(front_used_.count() * kOne.value / lasted.count())};
}

void Attention::asleep(bool asleep) {
    asleep_ = asleep;
    decide();
}

void Attention::application(std::string name, std::string cgroup) {
    application_ = std::move(name);
    cgroup_ = std::move(cgroup);
    application_of_ = session_ ? std::optional(session_->uid) : std::nullopt;
    decide();
}

void Attention::holder(std::string who) {
    holder_ = std::move(who);
    decide();
}

void Attention::saver(bool wanted) {
    saver_ = wanted;
}

void Attention::power_profile(std::string active) {
    power_profile_ = std::move(active);
    decide();
}

void Attention::run(std::optional<RunFocus> run) {
    run_ = std::move(run);
    run_of_ = session_ ? std::optional(session_->uid) : std::nullopt;
    decide();
}

void Attention::aside(bool aside) {
    aside_ = aside;
    decide();
}

void Attention::profiles_of(PowerSource whose) {
    profiles_of_ = whose;
    decide();
}

void Attention::contested(std::string by) {
    contested_ = std::move(by);
    decide();
}

void Attention::decide() {
    if (std::string absent = absence(); !absent.empty()) {
        nobody(State::Released, std::move(absent));
    } else if (!holder_.empty()) {
        nobody(State::Held, "held by " + holder_);
    } else if (!contested_.empty()) {
        nobody(State::Contested, contested_);
    } else if (power_profile_ == PowerProfiles::kPerformance && !run_) {
        nobody(State::Released, "the desktop's power profile is performance");
    } else if (aside_ && !run_) {
        nobody(State::Aside, "the laptop is plugged in, and mains.govern is false");
    } else if (run_ && run_->whom.app.empty() && run_of_ != session_->uid) {
        nobody(State::Released, "a study's run serves another user");
    } else if (run_) {
        state_ = State::Run;
        reason_.clear();
        served_ = run_->happe ? std::optional(run_->whom) : std::nullopt;
        if (served_ && served_->app.empty()) {
            served_->app = in_front();
        }
    } else {
        state_ = State::Serving;
        reason_.clear();
        served_ = Served{.user = session_->user, .app = in_front(), .source = profiles_of_};
        if (profile_name(*served_).size() > kLongestProfileName) {
            served_->source = PowerSource::Both;
        }
    }
}

// The application in front, of the active session's user.
std::string Attention::in_front() const {
    return application_of_ == session_->uid ? application_ : kNoApplication;
}

void Attention::nobody(State state, std::string reason) {
    state_ = state;
    reason_ = std::move(reason);
    served_.reset();
}

// Why there is nobody at the machine; empty if there is somebody.
std::string Attention::absence() const {
    if (asleep_) {
        return "the machine is going to sleep";
    }
    if (!session_) {
        return "no session is active";
    }
    if (session_->session_class != "user") {
        return "the active session is of class " + session_->session_class;
    }
    if (session_->locked) {
        return "the active session is locked";
    }
    return session_->user.empty() ? "the active session's user has no name" : std::string();
}

}  // namespace happe
