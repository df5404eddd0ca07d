// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/governor.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace happe {
namespace {

constexpr Ppm kSaturated{950'000};
constexpr std::uint16_t kUnknown = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kLevelPpm = 100'000;

}  // namespace

// Algorithm 3, once a sample period:
//
//   performance key pressed:  f_next = f_cur + 1;  w_map(user, app, f_next, util)
//   else power key pressed:   f_next = f_cur - 1;  w_map(user, app, f_next, util)
//   else:                     f_next = r_map(user, app, util)
//   if f_next != f_cur:       set_freq(f_next)
//
// With policies that scale independently the press belongs to the one of highest normalised utilisation alone (an idle
// CPU must not teach level 0 a high frequency); the others look themselves up. w_map is Uafp::learn.
Decision Governor::step(const Observation& seen, Uafp* uafp) {
    targets_.clear();
    running_.clear();
    if (uafp == nullptr) {
        forget_levels();
        return {.released = true, .targets = {}, .lesson = {}};
    }
    for (const PolicySample& sample : seen.policies) {
        running_.push_back(running(sample));
    }
    const Running* const pressed = seen.key ? busiest() : nullptr;
    std::optional<Lesson> lesson;
    if (pressed != nullptr) {
        lesson = learn(*seen.key, *pressed, *uafp);
    }
    for (const Running& policy : running_) {
        decide(policy, &policy == pressed ? *states_[policy.index].decided : look_up(policy, *uafp));
    }
    return {.released = false, .targets = targets_, .lesson = lesson};
}

// Ties go to the lowest id, which comes first.
const Governor::Running* Governor::busiest() const {
    const auto found = std::ranges::max_element(
        running_, [](const Running& a, const Running& b) { return a.normalised < b.normalised; });
    return found == running_.end() ? nullptr : &*found;
}

Lesson Governor::learn(Key key, const Running& policy, Uafp& uafp) {
    const Ladder& ladder = ladders_[policy.index].ladder;
    const Khz next = key == Key::Performance ? ladder.above(policy.current) : ladder.below(policy.current);
    const Level level = policy.normalised.level();
    const Khz before = uafp.at(level);
    uafp.learn(level, in_reference_khz(ladder, next));
    states_[policy.index] = {.decided = next, .level = level};
    return {.key = key,
            .policy = ladders_[policy.index].id,
            .level = level,
            .from = before,
            .to = uafp.at(level),
            .current = policy.current,
            .utilisation = policy.utilisation};
}

Khz Governor::look_up(const Running& policy, const Uafp& uafp) {
    const Level level = settled_level(policy);
    states_[policy.index].level = level;
    const Khz next = ladders_[policy.index].ladder.at_or_above(uafp.at(level), f_ref_);
    return settings_.fixed_point ? climb(policy, uafp, next) : next;
}

// Hysteresis: noise at a border between two levels must not make the frequency flap.
Level Governor::settled_level(const Running& policy) const {
    const std::optional<Level> last = states_[policy.index].level;
    if (last) {
        const std::uint64_t now = policy.normalised.ppm();
        const std::uint64_t border = last->value * kLevelPpm;
        const std::uint64_t slack = settings_.hysteresis.value;
        if (now + slack >= border && now < border + kLevelPpm + slack) {
            return *last;
        }
    }
    return policy.normalised.level();
}

// A saturated policy's normalised utilisation cannot exceed f/f_max, so the paper's algorithm climbs a step a period to
// what it has already learned. Look up as if it were there already, until the answer repeats.
Khz Governor::climb(const Running& policy, const Uafp& uafp, Khz first) const {
    const Ladder& ladder = ladders_[policy.index].ladder;
    Khz reached = policy.current;
    Khz next = first;
    while (next > reached && policy.utilisation >= kSaturated) {
        reached = next;
        next = ladder.at_or_above(uafp.at(normalise(ladder, reached, policy.utilisation).level()), f_ref_);
    }
    return reached > policy.current ? reached : first;
}

void Governor::decide(const Running& policy, Khz next) {
    states_[policy.index].decided = next;
    if (next != policy.current) {
        targets_.push_back({ladders_[policy.index].id, next});
    }
}

void Governor::forget_levels() {
    for (State& state : states_) {
        state.level.reset();
    }
}

// Hybrid CPUs share a UAFP by the fraction of their ladder's top. Rounding down is undone by Ladder::at_or_above.
Khz Governor::in_reference_khz(const Ladder& ladder, Khz khz) const {
    return Khz{static_cast<std::uint32_t>(std::uint64_t{khz.value} * f_ref_.value / ladder.top().value)};
}

Uafp Governor::untaught() const {
    Khz lowest = kHighestKhz;
    for (const PolicyLadder& policy : ladders_) {
        lowest = std::min(lowest, in_reference_khz(policy.ladder, policy.ladder.lowest()));
    }
    return Uafp(lowest);
}

NormalisedUtilisation Governor::normalise(const Ladder& ladder, Khz khz, Ppm utilisation) {
    return {.work = std::uint64_t{utilisation.value} * ladder.speed(khz).value, .f_max = ladder.f_max()};
}

Governor::Running Governor::running(const PolicySample& sample) const {
    const std::size_t index = index_of_[sample.id.value];
    const Ladder& ladder = ladders_[index].ladder;
    const Khz current = sample.current.value_or(states_[index].decided.value_or(ladder.lowest()));
    return {.index = index,
            .current = current,
            .utilisation = sample.utilisation,
            .normalised = normalise(ladder, current, sample.utilisation)};
}

Governor::Governor(std::vector<PolicyLadder> policies, Settings settings)
    : ladders_(std::move(policies)),
      settings_(settings),
      index_of_(kHighestPolicyId.value + 1U, kUnknown),
      states_(ladders_.size()) {
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
