// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/daemon.h"

#include "governor/system/monotonic_clock.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>
#include <algorithm>
#include <utility>

namespace happe {
namespace {

constexpr const char* kFailing = "failing";

const char* state_name(State state, bool observing) {
    switch (state) {
        case State::Serving:
            return observing ? "observing" : "governing";
        case State::Released:
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

std::vector<PolicyLadder> ladders(std::span<const Policy> policies) {
    std::vector<PolicyLadder> result;
    for (const Policy& policy : policies) {
        result.push_back({policy.id, policy.ladder});
    }
    return result;
}

}  // namespace

// As keyboards do: the oldest is forgotten beyond so many in a period.
void Daemon::Presses::say(const Press& press) {
    if (said.size() >= EvdevKeys::kMostWaiting) {
        said.erase(said.begin());
    }
    said.push_back(press);
}

void Daemon::Presses::take(std::vector<Press>& presses) {
    keys->take(presses);
    presses.insert(presses.end(), said.begin(), said.end());
    said.clear();
    std::erase_if(presses, [this](const Press& press) { return press.at < since; });
    std::ranges::sort(presses, {}, &Press::at);
}

void Daemon::show_settings() {
    shown_.settings = describe_settings(configuration_);
}

LoopSettings Daemon::loop_settings() const {
    if (run_) {  // the paper's
        return {.sham = run_->sham()};
    }
    return {.algorithm = configuration_.algorithm,
            .feedback = configuration_.immediate ? Feedback::Immediate : Feedback::NextSample,
            .period = configuration_.period};
}

// What the loop before had taken is given back, so that the new one begins as every loop does. What was pressed under
// it teaches nobody whom the new one serves.
void Daemon::new_loop(const LoopSettings& settings) {
    if (loop_) {
        give_back();
    }
    std::vector<Press> of_before;
    presses_.take(of_before);
    const MonoTime now = monotonic_now();
    presses_.since = run_ ? now : MonoTime();  // a run's trace begins with it
    loop_ = std::make_unique<Loop>(
        Ports{*machine_.utilisation, *machine_.frequency, presses_, attention_, *store_, chronicle_}, settings, now);
    shown_.targets.clear();  // and nothing of a run, or of the person before it, is shown to the other
    shown_.profile.reset();
    shown_.sample.clear();
    if (turning_) {
        arm();
    }
}

void Daemon::give_back() {
    if (const Status released = machine_.frequency->release(); !released) {
        chronicle_.failed(released.error());
    }
    lent_ = false;
}

Result<TraceHeader> Daemon::trace_header(const LoopSettings& settings, const std::optional<Served>& whom) {
    TraceHeader header{.settings = settings.algorithm,
                       .immediate = settings.feedback == Feedback::Immediate,
                       .period = settings.period,
                       .sham = settings.sham,
                       .ladders = ladders(machine_.frequency->policies()),
                       .profiles = {}};
    if (whom) {
        const auto known = store_->find(*whom);
        if (!known) {
            return tl::unexpected<Error>(known.error());
        }
        if (*known) {
            header.profiles.push_back({*whom, **known});
        }
    }
    return header;
}

// Turns go on while somebody is served or a run is recorded; else the daemon sleeps.
void Daemon::attend() {
    if (run_ && attention_.state() == State::Run && !run_->condition.is_happe() && !lent_) {
        if (const Status lent = lend_machine(); !lent) {
            not_lent_ = lent.error().message;
            chronicle_.failed(lent.error());
        }
    } else if (lent_ && attention_.state() != State::Run) {
        give_back();
    }
    const bool wanted = attention_.served() != nullptr || attention_.state() == State::Run;
    if (wanted && !turning_) {
        begin_turns();
    } else if (!wanted && turning_) {
        end_turns();
        loop_->turn(monotonic_now());  // serves nobody, and so gives the machine back
    }
    if (attention_.state() == State::Released && logind_.asleep()) {
        logind_.ready_to_sleep();
    }
    follow_run();
    show();
}

void Daemon::begin_turns() {
    if (control_ && !run_ && control_->changed()) {
        follow_hardware();
    }
    turning_ = true;
    loop_->begin(monotonic_now());
    if (watchdog_usec_ > 0) {
        sd_notifyf(0, "WATCHDOG_USEC=%llu", static_cast<unsigned long long>(watchdog_usec_));
        watchdog_told_ = {};
    }
    arm();
}

void Daemon::end_turns() {
    turning_ = false;
    alarm_->cancel();
    if (watchdog_usec_ > 0) {
        sd_notify(0, "WATCHDOG_USEC=0");
    }
}

void Daemon::arm() {
    alarm_->set(loop_->due());
}

void Daemon::came_due() {
    if (const MonoTime now = monotonic_now(); now >= loop_->due()) {
        turn(now);
    } else {
        arm();
    }
}

void Daemon::turn(MonoTime now) {
    tend(now);
    if (!turning_) {
        return;  // contested: the last turn was made
    }
    loop_->turn(now);
    if (const auto notice = store_->take_notice()) {
        chronicle_.failed(Error{*notice});
    }
    look_at_run();
    tell_watchdog(now);
    show_trouble();
    bus_->turned();
    arm();
}

void Daemon::tend(MonoTime now) {
    if (!control_) {
        return;
    }
    const Status tended = control_->tend(now);
    if (!tended) {
        chronicle_.failed(tended.error());
    }
    if (control_->contested() && attention_.state() != State::Contested) {
        const bool told = !tended && !(run_ && run_->blind());
        attention_.contested(told ? tended.error().message : "another program governs");
        attend();
    }
}

// By a key, or by Feedback. With nobody served the turn only counts the press.
void Daemon::pressed() {
    const MonoTime now = monotonic_now();
    loop_->pressed(now);
    if (!turning_) {
        loop_->turn(now);
    } else if (now >= loop_->due()) {
        turn(now);
    } else {
        arm();
    }
}

void Daemon::session_changed() {
    const auto& before = attention_.active_session();
    const auto& now = logind_.active();
    if (!before || !now || before->id != now->id) {
        attention_.contested("");
    }
    attention_.session(now);
    attention_.asleep(logind_.asleep());
    attend();
}

void Daemon::caller_left(const std::string& bus_name) {
    attention_desk_.left(bus_name);
    if (learning_ && learner_ == bus_name) {
        learning_.reset();
    }
    if (run_ && run_->owner.bus_name == bus_name) {
        journal_.warning(fmt::format("run {} ends: who started it has left the bus; its trace is kept", run_->code));
        if (const Status ended = end_run(); !ended) {
            journal_.warning(ended.error().message);
        }
    }
}

void Daemon::tell_watchdog(MonoTime now) {
    if (watchdog_usec_ > 0 && now + configuration_.period - watchdog_told_ > Micros(watchdog_usec_ / 2)) {
        sd_notify(0, "WATCHDOG=1");
        watchdog_told_ = now;
    }
}

// Why not every policy is governed, while somebody is served. A run's trouble is in its facts.
std::string Daemon::trouble() const {
    return control_ && attention_.state() == State::Serving ? control_->trouble() : std::string();
}

void Daemon::show_trouble() {
    if (attention_.state() == State::Serving && trouble() != shown_.reason) {
        show();
    }
}

void Daemon::show() {
    const std::string trouble = this->trouble();
    shown_.state = trouble.empty() ? state_name(attention_.state(), borrowed_ != nullptr) : kFailing;
    shown_.reason = trouble.empty() ? attention_.reason() : trouble;
    const auto keyboards = static_cast<std::uint32_t>(presses_.keys->keyboards());
    if (run_ && keyboards < shown_.keyboards) {
        run_->facts.happened(monotonic_now(), "keyboard-lost", "");
    }
    shown_.keyboards = keyboards;
    shown_.holds = attention_desk_.holds();
    const auto& session = attention_.active_session();
    shown_.served_uid = session ? std::optional(session->uid) : std::nullopt;
    const Served* const whom = attention_.served();
    const Served shown = whom != nullptr ? *whom : Served{};
    if (shown != Served{shown_.user, shown_.application}) {  // until the next turn nothing is known of the new one
        shown_.profile.reset();
        shown_.sample.clear();
    }
    shown_.user = shown.user;
    shown_.application = shown.app;
    if (bus_) {
        bus_->changed();
    }
}

Status Daemon::stop() {
    Status status;
    if (run_) {
        status = end_run();
    }
    give_back();
    if (const Status flushed = store_->flush(); !flushed) {
        status = flushed;
    }
    return status;
}

}  // namespace happe
