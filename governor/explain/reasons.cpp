// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/explain/reasons.h"

#include <algorithm>
#include <initializer_list>
#include <ranges>
#include <string_view>
#include <utility>

// Qt's lupdate finds the texts by this name (ui/translations.cmake).
#define QT_TRANSLATE_NOOP(context, text) text  // NOLINT(cppcoreguidelines-macro-usage): lupdate reads the source

namespace happe {
namespace {

using Values = std::initializer_list<std::pair<std::string_view, std::string>>;

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

// The translated text, with these values in place of the names in braces. A name without a value stays.
std::string filled(const Wording& wording, const char* english, Values values) {
    const std::string text = wording.translated(english);
    std::string whole;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
        const std::string_view name =
            end == std::string::npos ? std::string_view() : std::string_view(text).substr(at + 1, end - at - 1);
        const auto value = std::ranges::find(values, name, &Values::value_type::first);
        if (value == values.end()) {
            whole += text[at++];
        } else {
            whole += value->second;
            at = end + 1;
        }
    }
    return whole;
}

std::string cause(const Reasons& reasons, const std::string& time, const Wording& wording) {
    if (reasons.descent.state == "probing") {
        return filled(wording,
                      QT_TRANSLATE_NOOP("Reasons", "HAPPE tries less than the {frequency} that it had learned"),
                      {{"frequency", wording.frequency(reasons.descent.restored)}});
    }
    if (!reasons.taught) {
        return wording.translated(QT_TRANSLATE_NOOP(
            "Reasons", "the history has no key press that taught it: the profile began so, or was imported"));
    }
    const char* const text =
        reasons.taught->lesson.probe
            ? QT_TRANSLATE_NOOP("Reasons", "HAPPE tried it on {time}, and you did not press \"faster\"")
        : reasons.taught->lesson.key == Key::Performance
            ? QT_TRANSLATE_NOOP("Reasons", "you pressed \"faster\" on {time}")
            : QT_TRANSLATE_NOOP("Reasons", "you pressed \"save power\" on {time}");
    return filled(wording, text, {{"time", time}});
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
                  .saver = situation.saver};
    found.taught = teacher(events, situation.profile->at(found.level));
    const PolicyLimits* const limits = shown_of(situation.limits, policy->id, &PolicyLimits::policy);
    if (limits != nullptr && (target->khz < limits->least || target->khz > limits->most)) {
        found.limits = *limits;
    }
    return found;
}

std::string why(const Reasons& reasons, const std::string& application, const std::string& time,
                const Wording& wording) {
    std::string text = filled(
        wording, QT_TRANSLATE_NOOP("Reasons", "HAPPE gives {application} {frequency} at {level}, because {cause}"),
        {{"application", application},
         {"frequency", wording.frequency(reasons.decided)},
         {"level", wording.level(reasons.level)},
         {"cause", cause(reasons, time, wording)}});
    if (!reasons.saver.empty()) {
        text += filled(wording, QT_TRANSLATE_NOOP("Reasons", "; this is one step less than learned, as {saver} asks"),
                       {{"saver", reasons.saver}});
    }
    if (reasons.limits) {
        text += filled(
            wording, QT_TRANSLATE_NOOP("Reasons", "; another program or the kernel allows only {least} to {most}"),
            {{"least", wording.frequency(reasons.limits->least)}, {"most", wording.frequency(reasons.limits->most)}});
    }
    return text + '.';
}

std::string what_next(const Reasons& reasons, const Wording& wording) {
    const std::string seconds = std::to_string(reasons.descent.seconds);
    if (reasons.descent.state == "probing") {
        return filled(wording,
                      QT_TRANSLATE_NOOP("Reasons",
                                        "If you press \"faster\", HAPPE goes back to at least {restored}; "
                                        "otherwise it keeps {frequency} in {seconds} s."),
                      {{"restored", wording.frequency(reasons.descent.restored)},
                       {"frequency", wording.frequency(reasons.decided)},
                       {"seconds", seconds}});
    }
    if (reasons.descent.state == "unattended") {
        return wording.translated(QT_TRANSLATE_NOOP(
            "Reasons", "HAPPE tries nothing lower, because the desktop does not tell it that somebody is there."));
    }
    if (reasons.descent.state != "waiting") {
        return wording.translated(QT_TRANSLATE_NOOP(
            "Reasons", "HAPPE tries nothing by itself: only key presses change what it has learned."));
    }
    if (!reasons.saver.empty()) {
        return filled(wording,
                      QT_TRANSLATE_NOOP("Reasons", "HAPPE tries nothing lower while {saver} asks for less power."),
                      {{"saver", reasons.saver}});
    }
    if (reasons.limits && reasons.limits->most < reasons.decided) {
        return wording.translated(
            QT_TRANSLATE_NOOP("Reasons", "HAPPE tries nothing lower under a limit that is lower already."));
    }
    if (reasons.lowest) {
        return wording.translated(
            QT_TRANSLATE_NOOP("Reasons", "HAPPE tries nothing lower, because this is the lowest frequency."));
    }
    return filled(wording,
                  QT_TRANSLATE_NOOP("Reasons",
                                    "HAPPE tries a lower frequency after {seconds} s more of use without a key press."),
                  {{"seconds", seconds}});
}

}  // namespace happe
