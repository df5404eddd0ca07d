// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/loop.h"

#include <algorithm>

namespace happe {
Loop::Loop(Ports ports, LoopSettings settings, MonoTime now)
    : ports_(ports),
      settings_(settings),
      governor_(ladders_of(ports.frequency.policies()), settings.domains, settings.algorithm),
      book_(governor_.untaught(), settings.algorithm.warm_start) {
    begin(now);
}

void Loop::begin(MonoTime now) {
    last_ = now;
    due_ = now + settings_.period;
    if (const auto started = ports_.utilisation.sample(); !started) {
        ports_.observer.failed(started.error());
    }
}

void Loop::profiles_changed() {
    book_ = ProfileBook(governor_.untaught(), settings_.algorithm.warm_start);
    served_.reset();
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
    const std::optional<Uafp> before = governor_.probe() ? governor_.probe()->before : uafp_;
    const bool saving = ports_.focus.saves_power();
    const bool present = ports_.focus.present();
    const Micros idle = ports_.focus.idle();
    const Ppm front = ports_.focus.front(now - last_);
    const Decision decision = governor_.step({.policies = samples_,
                                              .key = settings_.sham ? std::nullopt : counted,
                                              .power_saver = saving,
                                              .at = now,
                                              .present = present,
                                              .idle = idle,
                                              .front = front},
                                             uafp_ ? &*uafp_ : nullptr, served_ ? book_.patience(*served_) : nullptr);
    apply(decision);
    const Patience* const patience = settings_.algorithm.descent && served_ ? book_.patience(*served_) : nullptr;
    if (patience != nullptr) {
        ports_.profiles.keep(*served_, *patience);
    }
    if (decision.lesson) {
        remember(*before, *decision.lesson);
    }
    ports_.observer.turned({.at = now,
                            .served = served_ ? &*served_ : nullptr,
                            .policies = samples_,
                            .presses = presses_,
                            .power_saver = saving,
                            .present = present,
                            .idle = idle,
                            .front = front,
                            .counted = counted,
                            .decision = decision,
                            .before = before ? &*before : nullptr,
                            .uafp = uafp_ ? &*uafp_ : nullptr,
                            .patience = patience,
                            .probe = governor_.probe() ? &*governor_.probe() : nullptr,
                            .lasted = now - last_});
    due_ = (now - due_ < settings_.period ? due_ : now) + settings_.period;  // periods neither drift nor pile up
    last_ = now;
}

// Leaves out policies that are off line, which have no CPU with a utilisation.
void Loop::measure() {
    cpus_.clear();
    samples_.clear();
    const auto sampled = ports_.utilisation.sample();
    if (!sampled) {
        ports_.observer.failed(sampled.error());
        return;
    }
    std::size_t room = 0;
    for (const Policy& policy : ports_.frequency.policies()) {
        room += policy.cpus.size();
    }
    cpus_.reserve(room);  // the spans below point into it
    for (const Policy& policy : ports_.frequency.policies()) {
        const std::size_t first = cpus_.size();
        for (const unsigned cpu : policy.cpus) {
            if (cpu < sampled->size() && (*sampled)[cpu]) {
                cpus_.push_back(*(*sampled)[cpu]);
            }
        }
        const auto cpus = std::span<const Ppm>(cpus_).subspan(first);
        if (!cpus.empty()) {
            samples_.push_back({.id = policy.id,
                                .current = ports_.frequency.current(policy.id),
                                .ran = std::nullopt,
                                .limit = ports_.frequency.limit(policy.id),
                                .cpus = cpus});
        }
    }
    const auto domain = [this](const PolicySample& sample) { return governor_.domain_of(sample.id); };
    for (auto first = samples_.begin(); first != samples_.end();) {
        const auto end = std::find_if(first, samples_.end(),
                                      [&](const PolicySample& other) { return domain(other) != domain(*first); });
        ports_.frequency.measure_speeds({first, end});
        first = end;
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
        // HAPPE serves nobody until it can read the profile. Otherwise a new lesson could replace the stored profile.
        ports_.observer.failed(read.error());
        return;
    }
    if (book_.patience(*whom) == nullptr) {
        book_.put(*whom, ports_.profiles.patience(*whom));
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
            if (!book_.knows(profile.whom)) {  // a store with a full disk may be behind the book
                book_.put(profile.whom, profile.uafp);
            }
        }
        return {};
    }
    return read_profile(whom).and_then([&] { return book_.knows(whom) ? Status() : read_profile(begins_as(whom)); });
}

Status Loop::read_profile(const Served& whom) {
    return book_.knows(whom) ? Status() : ports_.profiles.find(whom).map([&](const std::optional<Uafp>& found) {
        if (found) {
            book_.put(whom, *found);
        }
    });
}

void Loop::apply(const Decision& decision) {
    if (acquired_ == decision.released) {
        const Status changed = acquired_ ? ports_.frequency.release() : ports_.frequency.acquire();
        acquired_ = changed ? !acquired_ : acquired_;  // otherwise the next turn tries again
        report(changed);
    }
    for (const Target& target : decision.targets) {
        if (acquired_) {
            report(ports_.frequency.set(target.policy, target.khz));
        }
    }
}

void Loop::remember(const Uafp& before, const Lesson& lesson) {
    book_.put(*served_, *uafp_);
    report(ports_.profiles.learned(*served_, before, lesson, *uafp_));
}

void Loop::report(const Status& status) {
    if (!status) {
        ports_.observer.failed(status.error());
    }
}

}  // namespace happe
