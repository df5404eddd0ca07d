// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/loop.h"

#include <algorithm>

namespace happe {
Loop::Loop(Ports ports, LoopSettings settings, MonoTime now)
    : ports_(ports),
      settings_(settings),
      governor_(ladders_of(ports.frequency.policies()), settings.algorithm),
      book_(governor_.untaught(), settings.algorithm.warm_start) {
    begin(now);
}

void Loop::begin(MonoTime now) {
    last_ = now;
    due_ = now + settings_.period;
    if (const auto started = ports_.utilisation.sample(); !started) {
        ports_.witness.failed(started.error());
    }
}

void Loop::pressed(MonoTime now) {
    if (settings_.feedback == Feedback::Immediate) {
        due_ = std::min(due_, std::max(now, last_ + kShortestSample));
    }
}

void Loop::turn(MonoTime now) {
    measure();
    presses_.clear();
    ports_.keys.take(presses_);
    serve(ports_.focus.served());
    const std::optional<Key> counted = series_.counted(presses_);
    const Decision decision =
        governor_.step({samples_, settings_.sham ? std::nullopt : counted}, uafp_ ? &*uafp_ : nullptr);
    apply(decision);
    remember(decision);
    ports_.witness.turned({.at = now,
                           .served = served_ ? &*served_ : nullptr,
                           .policies = measured_,
                           .presses = presses_,
                           .counted = counted,
                           .decision = decision,
                           .uafp = uafp_ ? &*uafp_ : nullptr});
    due_ = (now - due_ < settings_.period ? due_ : now) + settings_.period;  // no drift, but no catching up either
    last_ = now;
}

// A policy none of whose CPUs has been counted is off line and left out.
void Loop::measure() {
    cpus_.clear();
    samples_.clear();
    measured_.clear();
    const auto sampled = ports_.utilisation.sample();
    if (!sampled) {
        ports_.witness.failed(sampled.error());
        return;
    }
    cpus_.reserve(sampled->size());  // the spans below point into it
    for (const Policy& policy : ports_.frequency.policies()) {
        const std::size_t first = cpus_.size();
        for (const unsigned cpu : policy.cpus) {
            if (cpu < sampled->size() && (*sampled)[cpu]) {
                cpus_.push_back(*(*sampled)[cpu]);
            }
        }
        const auto cpus = std::span<const Ppm>(cpus_).subspan(first);
        if (!cpus.empty()) {
            samples_.push_back({policy.id, ports_.frequency.current(policy.id), *std::ranges::max_element(cpus)});
            measured_.push_back({samples_.back(), cpus});
        }
    }
}

void Loop::serve(const Served* whom) {
    if (whom == nullptr) {
        served_.reset();
        uafp_.reset();
        return;
    }
    if (served_ == *whom) {
        return;
    }
    governor_.forget_levels();
    served_.reset();
    uafp_.reset();
    if (const Status read = book_.knows(*whom) ? Status() : read_profiles(*whom); !read) {
        // Nobody is served until it can be read, lest what is learned now replaces what is stored.
        ports_.witness.failed(read.error());
        return;
    }
    served_ = *whom;
    uafp_ = book_.profile(*whom);
}

Status Loop::read_profiles(const Served& whom) {
    if (settings_.algorithm.warm_start) {
        const auto all = ports_.profiles.of_user(whom.user);
        if (!all) {
            return tl::unexpected<Error>(all.error());
        }
        for (const StoredProfile& profile : *all) {
            if (!book_.knows(profile.whom)) {  // the book may be ahead of a store with a full disk
                book_.put(profile.whom, profile.uafp);
            }
        }
        return {};
    }
    const auto found = ports_.profiles.find(whom);
    if (!found) {
        return tl::unexpected<Error>(found.error());
    }
    if (*found) {
        book_.put(whom, **found);
    }
    return {};
}

void Loop::apply(const Decision& decision) {
    if (acquired_ == decision.released) {
        const Status changed = acquired_ ? ports_.frequency.release() : ports_.frequency.acquire();
        acquired_ = changed ? !acquired_ : acquired_;  // else tried again at the next turn
        report(changed);
    }
    for (const Target& target : decision.targets) {
        if (acquired_) {
            report(ports_.frequency.set(target.policy, target.khz));
        }
    }
}

void Loop::remember(const Decision& decision) {
    if (decision.lesson) {
        book_.put(*served_, *uafp_);
        report(ports_.profiles.learned(*served_, *decision.lesson, *uafp_));
    }
}

void Loop::report(const Status& status) {
    if (!status) {
        ports_.witness.failed(status.error());
    }
}

}  // namespace happe
