// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/governor.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace happe {
namespace {

constexpr std::uint16_t kUnknown = std::numeric_limits<std::uint16_t>::max();

// Ties go to the domain with the lowest id, which comes first.
const Demand* greatest(std::span<const Demand> demands) {
    const auto found =
        std::ranges::max_element(demands, [](const Demand& a, const Demand& b) { return a.normalised < b.normalised; });
    return found == demands.end() ? nullptr : &*found;
}

}  // namespace

// Algorithm 3, once a sample period:
//
//   performance key pressed:  f_next = f_cur + 1;  w_map(user, app, f_next, util)
//   else power key pressed:   f_next = f_cur - 1;  w_map(user, app, f_next, util)
//   else:                     f_next = r_map(user, app, util)
//   if f_next != f_cur:       set_freq(f_next)
//
// util is the demand of a domain: all policies between which the scheduler moves work. They share a level and a
// look-up. A press belongs only to the domain of highest demand (an idle CPU must not teach level 0 a high frequency)
// and steps from its fastest policy; the other domains look up their levels. w_map is Uafp::learn.
Decision Governor::step(const Observation& seen, Uafp* uafp, Patience* patience) {
    targets_.clear();
    power_saver_ = seen.power_saver;
    const std::span<const Demand> demands = measure(seen, uafp);
    governs_ = uafp != nullptr;
    if (uafp == nullptr) {
        forget_levels();
        return {.released = true, .targets = {}, .lesson = {}, .probe = {}, .running = running_};
    }
    for (const Demand& demand : demands) {
        holds_[demand.domain].see(demand.normalised.level(), seen.at, settings_.hold_time);
    }
    descent_.pass(seen.at);
    const Demand* const most = greatest(demands);
    const Demand* const pressed = seen.key ? most : nullptr;
    std::optional<ProbeEvent> probe;
    std::optional<Lesson> lesson;
    if (settings_.descent && most != nullptr) {
        lesson = descend(seen, *most, *uafp, *patience, probe);
    }
    const bool top = pressed != nullptr && at_top(*seen.key, *pressed, *uafp);
    if (pressed != nullptr && !top) {
        faster_.pressed(*seen.key, seen.at, settings_.again);
        lesson = learn(*seen.key, *pressed, *uafp, probe == ProbeEvent::Refused);
    }
    for (const Demand& demand : demands) {
        wanted_[demand.domain] = uafp->at(level_in_use(demand));
    }
    for (const Running& policy : running_) {
        decide(policy, wanted_[policy.domain]);
    }
    return {.targets = targets_, .lesson = lesson, .probe = probe, .at_top = top, .running = running_};
}

// With `begin_low`, where HAPPE begins: the kernel has run the machine, perhaps at its top, where a busy CPU has the
// highest level. The level that counts is the one to which HAPPE would have come by itself, from the lowest one.
std::span<const Demand> Governor::measure(const Observation& seen, const Uafp* uafp) {
    const bool begins = settings_.begin_low && uafp != nullptr && !governs_;
    std::ranges::fill(wanted_, begins ? uafp->at(Level{}) : kHighestKhz);
    std::span<const Demand> demands;
    for (bool rises = true; rises;) {
        running_.clear();
        for (const PolicySample& sample : seen.policies) {
            Running& policy = running_.emplace_back(running(sample));
            policy.within = begins ? std::optional(entry(*policy.ladder, wanted_[policy.domain])) : std::nullopt;
        }
        demands = demands_.measure(running_);
        rises = false;
        for (const Demand& demand : demands) {
            const Khz wanted = begins ? uafp->at(demand.normalised.level()) : kHighestKhz;
            rises = rises || wanted > wanted_[demand.domain];
            wanted_[demand.domain] = wanted;
        }
    }
    return demands;
}

// Mode `extended`: probes a lower frequency in the domain of highest demand, where a person can feel it. Returns the
// lesson of an accepted probe.
std::optional<Lesson> Governor::descend(const Observation& seen, const Demand& demand, Uafp& uafp, Patience& patience,
                                        std::optional<ProbeEvent>& event) {
    if (seen.key) {
        event = descent_.pressed(*seen.key, uafp, patience);
        return std::nullopt;
    }
    const std::optional<Descent::Probe> probe = descent_.probe();
    const Level level = level_in_use(demand);
    const bool binds = !settings_.felt || is_bound(*demand.busiest);
    const bool others = settings_.felt && binds && is_work_of_others(running_, seen.front);
    if (!seen.present || others || limited(probe ? probe->before.at(probe->level) : uafp.at(level))) {
        event = descent_.stop(ProbeEvent::Ended, uafp);
        return std::nullopt;
    }
    if (seen.power_saver) {
        return std::nullopt;
    }
    const Khz lower = less(*demand.fastest->ladder, uafp.at(level), patience);
    event = descent_.quiet({.level = level, .lower = lower, .binds = binds, .idle = seen.idle}, uafp, patience);
    if (event != ProbeEvent::Accepted) {
        return std::nullopt;
    }
    Lesson accepted = lesson(Key::Power, demand, probe->level, probe->before.at(probe->level), uafp.at(probe->level));
    accepted.probe = true;
    return accepted;
}

// The value that a probe learns instead of `value`. If no press has lengthened the wait, the profile may be far too
// high.
Khz Governor::less(const Ladder& ladder, Khz value, const Patience& patience) const {
    const std::size_t steps =
        patience.wait == Patience::kFirst ? std::max<std::size_t>(1, ladder.size() / Descent::kFirstSteps) : 1;
    Khz lower = ladder.at_or_above(value, f_ref_);
    for (std::size_t step = 0; step < steps; ++step) {
        lower = ladder.below(lower);
    }
    return in_reference_khz(ladder, std::max(lower, ladder.at_or_above(settings_.floor, f_ref_)));
}

// Whether somebody else's limit is lower than the frequency for this value of the UAFP.
bool Governor::limited(Khz value) const {
    return std::ranges::any_of(running_, [&](const Running& policy) {
        return policy.limit && *policy.limit < policy.ladder->at_or_above(value, f_ref_);
    });
}

// Whether somebody else's limit is reached, so that it may have decided the frequency that runs.
bool Governor::at_limit() const {
    return std::ranges::any_of(running_,
                               [](const Running& policy) { return policy.limit && *policy.limit <= policy.current; });
}

// With `silent_top`: the profile has nothing faster.
bool Governor::at_top(Key key, const Demand& demand, const Uafp& uafp) const {
    const Ladder& ladder = *demand.fastest->ladder;
    return settings_.silent_top && key == Key::Performance &&
           ladder.at_or_above(uafp.at(level_in_use(demand)), f_ref_) == ladder.top();
}

// "Faster" lowers no value of the UAFP, and "save power" raises none: in mode `extended` always, and in mode `paper`
// where somebody else's limit binds. The frequency that runs may then be far from the UAFP's.
Lesson Governor::learn(Key key, const Demand& demand, Uafp& uafp, bool refused) {
    const Running& stepped = *demand.fastest;
    const Level level = level_in_use(demand);
    const Khz before = uafp.at(level);
    refused = refused && settings_.refused_part > 0;
    Khz next = in_reference_khz(*stepped.ladder, taught(key, stepped, refused ? 0 : settings_.faster_part));
    if (settings_ != Settings{} || limited(before) || at_limit()) {
        next = key == Key::Performance ? std::max(next, before) : std::min(next, before);
    }
    if (refused) {
        const Ladder& ladder = *stepped.ladder;
        next = std::max(next, in_reference_khz(ladder, raised(ladder, ladder.at_or_above(before, f_ref_),
                                                              settings_.refused_part, 0)));
    }
    uafp.learn(level, next);
    return lesson(key, demand, level, before, uafp.at(level));
}

Lesson Governor::lesson(Key key, const Demand& demand, Level level, Khz from, Khz to) const {
    return {.key = key,
            .policy = ladders_[demand.busiest->index].id,
            .level = level,
            .from = from,
            .to = to,
            .current = demand.busiest->current,
            .utilisation = demand.busiest->utilisation};
}

// One step from the present frequency, or a part of the ladder up. In power-saver mode, decisions are one step lower
// than the learned value. A press then teaches one step more, so that frequency and profile both move by one step.
Khz Governor::taught(Key key, const Running& stepped, std::uint32_t faster_part) const {
    const Ladder& ladder = *stepped.ladder;
    const Khz current = std::min(stepped.current, stepped.within.value_or(stepped.current));
    if (key == Key::Performance) {
        const Khz asked = raised(ladder, current, faster_part, faster_.repeats());
        return power_saver_ ? ladder.above(asked) : asked;
    }
    const Khz ran = std::min(current, stepped.ran.value_or(current));
    return power_saver_ ? ladder.at_or_above(ran, ladder.top()) : ladder.below(ran);
}

// The ladder's entry for `khz` plus a part of the ladder, which doubles so often. At least one entry more.
Khz Governor::raised(const Ladder& ladder, Khz khz, std::uint32_t part, std::size_t doubled) const {
    const std::size_t steps = part > 0 ? std::max<std::size_t>(1, (ladder.size() << doubled) / part) : 1;
    for (std::size_t step = 0; step < std::min(steps, ladder.size()); ++step) {
        khz = ladder.above(khz);
    }
    return khz;
}

Level Governor::level_in_use(const Demand& demand) const {
    return settings_.hold ? holds_[demand.domain].level() : demand.normalised.level();
}

// Each policy takes the frequency from its own ladder.
void Governor::decide(const Running& policy, Khz wanted) {
    const Khz next = entry(*policy.ladder, wanted);
    decided_[policy.index] = next;
    if (next != policy.current) {
        targets_.push_back({ladders_[policy.index].id, next});
    }
}

// The ladder's frequency for a value of a UAFP.
Khz Governor::entry(const Ladder& ladder, Khz wanted) const {
    const Khz learned = ladder.at_or_above(wanted, f_ref_);
    return power_saver_ ? ladder.below(learned) : learned;
}

void Governor::forget_levels() {
    std::ranges::fill(holds_, Hold());
    descent_.forget();
    faster_.forget();
}

// Hybrid CPUs share a UAFP as fractions of their ladders' tops. Ladder::at_or_above corrects the rounding down.
Khz Governor::in_reference_khz(const Ladder& ladder, Khz khz) const {
    return Khz{static_cast<std::uint32_t>(std::uint64_t{khz.value} * f_ref_.value / ladder.top().value)};
}

Uafp Governor::untaught() const {
    Khz lowest = kHighestKhz;
    for (const PolicyLadder& policy : ladders_) {
        lowest = std::min(lowest, in_reference_khz(policy.ladder, policy.ladder.lowest()));
    }
    if (!settings_.middle_start) {
        return Uafp(lowest);
    }
    const auto fastest =
        std::ranges::find(ladders_, f_ref_, [](const PolicyLadder& policy) { return policy.ladder.top(); });
    return Uafp(std::max(
        lowest,
        fastest->ladder.at_or_above(
            Khz{static_cast<std::uint32_t>(std::uint64_t{f_ref_.value} * settings_.start_percent / 100)}, f_ref_)));
}

Running Governor::running(const PolicySample& sample) const {
    const std::size_t index = index_of_[sample.id.value];
    const Ladder& ladder = ladders_[index].ladder;
    return {.index = index,
            .domain = demands_.domain_of(index),
            .ladder = &ladder,
            .current = sample.current.value_or(decided_[index].value_or(ladder.lowest())),
            .ran = sample.ran,
            .limit = sample.limit,
            .within = {},
            .cpus = sample.cpus,
            .utilisation = sample.utilisation(),
            .level = {}};
}

Governor::Governor(std::vector<PolicyLadder> policies, const Domains& domains, Settings settings)
    : ladders_(std::move(policies)),
      settings_(settings),
      index_of_(kHighestPolicyId.value + 1U, kUnknown),
      decided_(ladders_.size()),
      demands_(ladders_, domains),
      holds_(demands_.domains()),
      wanted_(demands_.domains()) {
    for (std::size_t index = 0; index < ladders_.size(); ++index) {
        f_ref_ = std::max(f_ref_, ladders_[index].ladder.top());
        index_of_[ladders_[index].id.value] = static_cast<std::uint16_t>(index);
    }
    running_.reserve(ladders_.size());
    targets_.reserve(ladders_.size());
}

const PolicyLadder* Governor::find(PolicyId id) const {
    if (id > kHighestPolicyId || index_of_[id.value] == kUnknown) {
        return nullptr;
    }
    return &ladders_[index_of_[id.value]];
}

}  // namespace happe
