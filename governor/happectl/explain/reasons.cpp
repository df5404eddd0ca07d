// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/explain/reasons.h"

#include "governor/happectl/text.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <algorithm>
#include <ranges>

namespace happe::ctl {
namespace {

const SampledPolicy* busiest(const Properties& state) {
    const auto found = std::ranges::max_element(
        state.sample, {}, [](const SampledPolicy& each) { return std::pair(each.level, each.utilisation); });
    return found == state.sample.end() ? nullptr : &*found;
}

Khz reference(const Properties& state) {
    Khz top;
    for (const Policy& policy : state.policies) {
        top = std::max(top, policy.ladder.top());
    }
    return top;
}

// With the setting `hold` a higher level than the present one may count: the first whose frequency was decided.
Level level_in_use(const Properties& state, const Policy& policy, Level present, Khz decided) {
    for (std::uint8_t level = present.value; level < Uafp::kLevels; ++level) {
        const Khz learned = policy.ladder.at_or_above(state.profile->at({level}), reference(state));
        if ((state.savers.empty() ? learned : policy.ladder.below(learned)) == decided) {
            return {level};
        }
    }
    return present;
}

// Every value of a profile is one that a lesson learned, or is still as it began.
std::optional<LearningEvent> teacher(std::span<const LearningEvent> events, Khz value) {
    for (const LearningEvent& event : events | std::views::reverse) {
        const bool undone = std::ranges::find(events, event.seq, &LearningEvent::undoes) != events.end();
        if (event.undoes == 0 && !undone && event.lesson.to == value) {
            return event;
        }
    }
    return std::nullopt;
}

std::string cause(const Reasons& reasons, const std::string& local) {
    if (reasons.descent.state == "probing") {
        return fmt::format("HAPPE tries less than the {} that it had learned", gigahertz(reasons.descent.restored));
    }
    if (!reasons.taught) {
        return "no key press has taught it anything for such a load, and HAPPE begins here";
    }
    if (reasons.taught->lesson.probe) {
        return fmt::format("HAPPE tried it on {}, and you did not press \"faster\"", local);
    }
    return fmt::format("you pressed \"{}\" on {}",
                       reasons.taught->lesson.key == Key::Performance ? "faster" : "save power", local);
}

}  // namespace

std::optional<Reasons> reasons(const Properties& state, std::span<const LearningEvent> events) {
    const SampledPolicy* const sample = busiest(state);
    const Target* const target = sample ? of_policy(state.targets, sample->policy, &Target::policy) : nullptr;
    const Policy* const policy = sample ? of_policy(state.policies, sample->policy, &Policy::id) : nullptr;
    if (target == nullptr || policy == nullptr || !state.profile || state.user.empty()) {
        return std::nullopt;
    }
    Reasons found{.decided = target->khz,
                  .level = level_in_use(state, *policy, sample->level, target->khz),
                  .taught = {},
                  .limits = {},
                  .descent = state.descent,
                  .lowest = target->khz == policy->ladder.lowest(),
                  .saver = state.savers.empty() ? std::string() : state.savers.front().application};
    found.taught = teacher(events, state.profile->at(found.level));
    const PolicyLimits* const limits = of_policy(state.limits, policy->id, &PolicyLimits::policy);
    if (limits != nullptr && (target->khz < limits->least || target->khz > limits->most)) {
        found.limits = *limits;
    }
    return found;
}

std::string why(const Reasons& reasons, const std::string& application, const std::string& local) {
    std::string text = fmt::format("HAPPE gives {} {} at level {}, because {}", application, gigahertz(reasons.decided),
                                   reasons.level.value, cause(reasons, local));
    if (!reasons.saver.empty()) {
        text += fmt::format("; this is one step less than learned, as {} asks", reasons.saver);
    }
    if (reasons.limits) {
        text += fmt::format("; another program or the kernel allows only {} to {}", gigahertz(reasons.limits->least),
                            gigahertz(reasons.limits->most));
    }
    return text + '.';
}

std::string what_next(const Reasons& reasons) {
    if (reasons.descent.state == "probing") {
        return fmt::format("If you press \"faster\", HAPPE goes back to at least {}; otherwise it keeps {} in {} s.",
                           gigahertz(reasons.descent.restored), gigahertz(reasons.decided), reasons.descent.seconds);
    }
    if (reasons.descent.state != "waiting") {
        return "HAPPE tries nothing by itself: only key presses change what it has learned.";
    }
    if (!reasons.saver.empty()) {
        return fmt::format("HAPPE tries nothing lower while {} asks for less power.", reasons.saver);
    }
    if (reasons.lowest) {
        return "HAPPE tries nothing lower, because this is the lowest frequency.";
    }
    return fmt::format("HAPPE tries a lower frequency after {} s more of use without a key press.",
                       reasons.descent.seconds);
}

}  // namespace happe::ctl
