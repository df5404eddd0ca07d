// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/chronicle.h"

#include <algorithm>
#include <optional>

namespace happe {

void Chronicle::turned(const Turn& turn) {
    now_ = turn.at;
    RunSession* const run = runs_.session();
    if (run != nullptr) {
        if (const Status recorded = run->turned(turn); !recorded) {
            failed(recorded.error());
        }
    }
    show(turn);
    if (turn.counted && (turn.served != nullptr || run != nullptr)) {
        counted_(*turn.counted);
    }
    if (run == nullptr && turn.served != nullptr) {
        tell(turn);
    }
}

void Chronicle::failed(const Error& error) {
    RunSession* const run = runs_.session();
    if (run != nullptr && run->blind()) {
        run->facts().happened(now_, "other", error.message);
    } else {
        journal_.trouble(error.message, now_);
    }
}

void Chronicle::show(const Turn& turn) {
    shown_.sample.clear();
    for (const auto& [sample, cpus] : turn.policies) {
        const auto policy = std::ranges::find(shown_.policies, sample.id, &Policy::id);
        if (policy != shown_.policies.end()) {
            const Khz current = sample.current.value_or(policy->ladder.lowest());
            const NormalisedUtilisation normalised{
                std::uint64_t{sample.utilisation.value} * policy->ladder.speed(current).value, policy->ladder.f_max()};
            shown_.sample.push_back({sample.id, current, sample.utilisation, normalised.level()});
        }
    }
    show_targets(turn);
    if (turn.served == nullptr && runs_.session() == nullptr) {
        shown_.sample.clear();  // of the person who was here
    }
    shown_.profile = turn.uafp != nullptr ? std::optional(*turn.uafp) : std::nullopt;
}

// A decision names the frequencies that change; that of any other policy is to stay as it is.
void Chronicle::show_targets(const Turn& turn) {
    shown_.targets.clear();
    if (turn.decision.released) {
        return;
    }
    for (const SampledPolicy& sampled : shown_.sample) {
        const auto target = std::ranges::find(turn.decision.targets, sampled.policy, &Target::policy);
        shown_.targets.push_back(target != turn.decision.targets.end() ? *target
                                                                       : Target{sampled.policy, sampled.current});
    }
}

void Chronicle::tell(const Turn& turn) {
    if (turn.decision.lesson) {
        journal_.learned(*turn.served, *turn.decision.lesson);
    }
    for (const Target& target : turn.decision.targets) {
        const bool taught = turn.decision.lesson && turn.decision.lesson->policy == target.policy;
        journal_.decided(*turn.served, target, taught ? "key" : "profile");
    }
}

}  // namespace happe
