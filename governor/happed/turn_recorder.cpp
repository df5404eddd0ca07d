// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/turn_recorder.h"

#include <algorithm>
#include <optional>

namespace happe {
namespace {

std::uint32_t seconds_left(Micros of, Micros passed) {
    const Micros left = std::max(of - passed, Micros{0});
    return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(left).count());
}

ShownDescent descent_of(const Turn& turn) {
    if (turn.probe != nullptr) {
        return {.state = "probing",
                .restored = turn.probe->before.at(turn.probe->level),
                .seconds = std::max(seconds_left(Descent::kAccepted, turn.probe->quiet),
                                    seconds_left(turn.idle, turn.at - turn.probe->begun))};
    }
    if (turn.patience != nullptr && !turn.present) {
        return {.state = "unattended"};
    }
    if (turn.patience != nullptr) {
        return {.state = "waiting", .seconds = seconds_left(turn.patience->wait, turn.patience->quiet)};
    }
    return {};
}

// The domain of a policy that the turn lists.
std::size_t domain_of(const Turn& turn, PolicyId policy) {
    const auto found = std::ranges::find(turn.policies, policy, &PolicySample::id);
    return turn.decision.running[static_cast<std::size_t>(found - turn.policies.begin())].domain;
}

}  // namespace

void TurnRecorder::turned(const Turn& turn) {
    now_ = turn.at;
    RunSession* const run = runs_.session();
    if (run != nullptr) {
        if (const Status recorded = run->turned(turn, power_.source()); !recorded) {
            failed(recorded.error());
        }
    }
    show(turn);
    if (turn.decision.at_top) {
        shown_.fastest_us = turn.at.time_since_epoch().count();
    }
    if (turn.counted && (turn.served != nullptr || run != nullptr)) {
        counted_(*turn.counted);
    }
    if (run == nullptr && turn.served != nullptr) {
        tell(turn);
        if (shown_.state == "governing") {
            day_.add(turn);
        }
    }
}

void TurnRecorder::failed(const Error& error) {
    RunSession* const run = runs_.session();
    if (run != nullptr && run->blind()) {
        run->facts().happened(now_, "other", error.message);
    } else {
        log_.trouble(error.message, now_);
    }
}

void TurnRecorder::show(const Turn& turn) {
    shown_.sample.clear();
    for (std::size_t i = 0; i < turn.policies.size(); ++i) {
        const Running& policy = turn.decision.running[i];
        const Khz ran = policy.ran ? policy.speed() : policy.current;
        shown_.sample.push_back({turn.policies[i].id, ran, policy.utilisation, policy.level});
    }
    show_targets(turn);
    if (turn.served == nullptr && runs_.session() == nullptr) {
        shown_.sample.clear();  // it shows the person who has left
    }
    shown_.descent = descent_of(turn);
    shown_.profile = turn.uafp != nullptr ? std::optional(*turn.uafp) : std::nullopt;
}

// A decision names only the frequencies that change. Every other policy keeps its frequency.
void TurnRecorder::show_targets(const Turn& turn) {
    shown_.targets.clear();
    if (turn.decision.released) {
        return;
    }
    for (std::size_t i = 0; i < turn.policies.size(); ++i) {
        const PolicyId policy = turn.policies[i].id;
        const auto target = std::ranges::find(turn.decision.targets, policy, &Target::policy);
        shown_.targets.push_back(
            target != turn.decision.targets.end() ? *target : Target{policy, turn.decision.running[i].current});
    }
}

void TurnRecorder::tell(const Turn& turn) {
    if (turn.decision.lesson) {
        log_.learned(*turn.served, *turn.decision.lesson);
    }
    for (const Target& target : turn.decision.targets) {
        const bool taught =
            turn.decision.lesson && domain_of(turn, turn.decision.lesson->policy) == domain_of(turn, target.policy);
        log_.decided(*turn.served, target, taught ? "key" : "profile");
    }
}

}  // namespace happe
