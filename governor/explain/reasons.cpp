// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/explain/reasons.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace happe {
namespace {

// The entry of a policy; null if there is none.
template <typename Shown, typename Of>
const Shown* shown_of(const std::vector<Shown>& all, PolicyId policy, Of of) {
    const auto found = std::ranges::find(all, policy, of);
    return found == all.end() ? nullptr : &*found;
}

const SampledPolicy* busiest(const Situation& situation) {
    const auto found = std::ranges::max_element(
        situation.sample, {}, [](const SampledPolicy& each) { return std::pair(each.level, each.utilisation); });
    return found == situation.sample.end() ? nullptr : &*found;
}

Khz reference(const Situation& situation) {
    Khz top;
    for (const Policy& policy : situation.policies) {
        top = std::max(top, policy.ladder.top());
    }
    return top;
}

// With the setting `hold` a higher level than the present one may count. Returns the first level from the present one
// that gives the decided frequency.
Level level_in_use(const Situation& situation, const Policy& policy, Level present, Khz decided) {
    for (std::uint8_t level = present.value; level < Uafp::kLevels; ++level) {
        const Khz learned = policy.ladder.at_or_above(situation.profile->at({level}), reference(situation));
        if ((situation.saver.empty() ? learned : policy.ladder.below(learned)) == decided) {
            return {level};
        }
    }
    return present;
}

// The newest standing lesson that taught this value. Every value of a profile comes from a lesson or from its start.
std::optional<LearningEvent> teacher(std::span<const LearningEvent> events, Khz value) {
    for (const LearningEvent& event : events | std::views::reverse) {
        const bool undone = std::ranges::find(events, event.seq, &LearningEvent::undoes) != events.end();
        if (event.undoes == 0 && !undone && event.lesson.to == value) {
            return event;
        }
    }
    return std::nullopt;
}

std::string cause(const Reasons& reasons, const std::string& time, const Wording& wording) {
    if (reasons.descent.state == "probing") {
        return "HAPPE tries less than the " + wording.frequency(reasons.descent.restored) + " that it had learned";
    }
    if (!reasons.taught) {
        return "the history has no key press that taught it: the profile began so, or was imported";
    }
    if (reasons.taught->lesson.probe) {
        return "HAPPE tried it on " + time + ", and you did not press \"faster\"";
    }
    const bool faster = reasons.taught->lesson.key == Key::Performance;
    return (faster ? "you pressed \"faster\" on " : "you pressed \"save power\" on ") + time;
}

// What a press of a key does.
std::string on_press(const Reasons& reasons, const Wording& wording) {
    const std::string now = wording.frequency(reasons.decided);
    const bool limited = reasons.limits && reasons.limits->most < reasons.decided;
    const std::string faster = reasons.top ? "\"Faster\" changes nothing, because this is the fastest"
                               : limited   ? "\"Faster\" changes nothing under this limit"
                                           : "\"Faster\" goes above " + now;
    return faster + (reasons.lowest ? "; nothing is below " + now + '.' : ", and \"save power\" below " + now + '.');
}

// What HAPPE does without a press.
std::string by_itself(const Reasons& reasons) {
    const std::string seconds = std::to_string(reasons.descent.seconds) + " s";
    if (reasons.descent.state == "unattended") {
        return "HAPPE tries nothing lower, because the desktop does not tell it that somebody is there.";
    }
    if (reasons.descent.state != "waiting") {
        return "HAPPE tries nothing by itself: only key presses change what it has learned.";
    }
    if (!reasons.saver.empty()) {
        return "HAPPE tries nothing lower while " + reasons.saver + " asks for less power.";
    }
    if (reasons.limits && reasons.limits->most < reasons.decided) {
        return "HAPPE tries nothing lower under a limit that is lower already.";
    }
    if (reasons.lowest) {
        return "HAPPE tries nothing lower, because this is the lowest frequency.";
    }
    return "HAPPE tries a lower frequency after " + seconds +
           " more of use without a key press, where you can feel it.";
}

}  // namespace

std::optional<Reasons> reasons(const Situation& situation, std::span<const LearningEvent> events) {
    const SampledPolicy* const sample = busiest(situation);
    const Target* const target = sample ? shown_of(situation.targets, sample->policy, &Target::policy) : nullptr;
    const Policy* const policy = sample ? shown_of(situation.policies, sample->policy, &Policy::id) : nullptr;
    if (target == nullptr || policy == nullptr || !situation.profile) {
        return std::nullopt;
    }
    Reasons found{.decided = target->khz,
                  .level = level_in_use(situation, *policy, sample->level, target->khz),
                  .taught = {},
                  .limits = {},
                  .descent = situation.descent,
                  .lowest = target->khz == policy->ladder.lowest(),
                  .top = {},
                  .saver = situation.saver};
    found.top =
        policy->ladder.at_or_above(situation.profile->at(found.level), reference(situation)) == policy->ladder.top();
    found.taught = teacher(events, situation.profile->at(found.level));
    const PolicyLimits* const limits = shown_of(situation.limits, policy->id, &PolicyLimits::policy);
    if (limits != nullptr && (target->khz < limits->least || target->khz > limits->most)) {
        found.limits = *limits;
    }
    return found;
}

std::string why(const Reasons& reasons, const std::string& application, const std::string& time,
                const Wording& wording) {
    std::string text = "HAPPE gives " + application + ' ' + wording.frequency(reasons.decided) + " at " +
                       wording.level(reasons.level) + ", because " + cause(reasons, time, wording);
    if (!reasons.saver.empty()) {
        text += "; this is one step less than learned, as " + reasons.saver + " asks";
    }
    if (reasons.limits) {
        text += "; another program or the kernel allows only " + wording.frequency(reasons.limits->least) + " to " +
                wording.frequency(reasons.limits->most);
    }
    return text + '.';
}

std::string at_the_top(std::span<const PolicyLimits> limits, Khz top,
                       const std::function<std::string(Khz)>& frequency) {
    const auto lowest = std::ranges::min_element(limits, {}, &PolicyLimits::most);
    return lowest == limits.end() || lowest->most >= top
               ? "This is the fastest."
               : "This is the fastest: another program or the kernel allows only " + frequency(lowest->most) + '.';
}

std::string what_next(const Reasons& reasons, const Wording& wording) {
    if (reasons.descent.state == "probing") {
        return "If you press \"faster\", HAPPE goes back to at least " + wording.frequency(reasons.descent.restored) +
               "; otherwise it keeps " + wording.frequency(reasons.decided) + " in " +
               std::to_string(reasons.descent.seconds) + " s.";
    }
    return by_itself(reasons) + ' ' + on_press(reasons, wording);
}

}  // namespace happe
