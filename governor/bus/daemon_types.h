// SPDX-License-Identifier: GPL-2.0-or-later
// The D-Bus form of each type of org.happe.Governor1's members.
#pragma once

#include "governor/bus/daemon_interface.h"
#include "governor/bus/wire.h"

#include <algorithm>
#include <utility>

namespace happe::wire {

template <>
struct Type<Khz> : Wrapped<Khz, &Khz::value> {};
template <>
struct Type<Ppm> : Wrapped<Ppm, &Ppm::value> {};
template <>
struct Type<PolicyId> : Wrapped<PolicyId, &PolicyId::value> {};
template <>
struct Type<Level> : Wrapped<Level, &Level::value> {};
template <>
struct Type<ProfilesText> : Wrapped<ProfilesText, &ProfilesText::text> {};
template <>
struct Type<Target> : Structure<Target, &Target::policy, &Target::khz> {};
template <>
struct Type<Policy> : Structure<Policy, &Policy::id, &Policy::cpus, &Policy::ladder> {};
template <>
struct Type<SampledPolicy> : Structure<SampledPolicy, &SampledPolicy::policy, &SampledPolicy::current,
                                       &SampledPolicy::utilisation, &SampledPolicy::level> {};
template <>
struct Type<ShownDescent>
    : Structure<ShownDescent, &ShownDescent::state, &ShownDescent::restored, &ShownDescent::seconds> {};
template <>
struct Type<PolicyLimits> : Structure<PolicyLimits, &PolicyLimits::policy, &PolicyLimits::least, &PolicyLimits::most> {
};
template <>
struct Type<ShownError> : Structure<ShownError, &ShownError::policy, &ShownError::message> {};
template <>
struct Type<ShownHold> : Structure<ShownHold, &ShownHold::application, &ShownHold::reason> {};
template <>
struct Type<ApplicationProfile>
    : Structure<ApplicationProfile, &ApplicationProfile::application, &ApplicationProfile::uafp> {};

template <>
struct Type<SpentTime> : Structure<SpentTime, &SpentTime::speed, &SpentTime::percent, &SpentTime::milliseconds> {};
template <>
struct Type<TimeSpent> : Structure<TimeSpent, &TimeSpent::since_us, &TimeSpent::spent> {};

struct KeyByName {
    using Wire = std::string;
    static Wire of(Key key) { return name_of(key); }
    static std::optional<Key> from(const Wire& name) {
        for (const Key key : {Key::Performance, Key::Power}) {
            if (name == name_of(key)) {
                return key;
            }
        }
        return std::nullopt;
    }
};
template <>
struct Type<Key> : Converted<Key, KeyByName> {};

struct LadderInKhz {
    using Wire = std::vector<Khz>;
    static Wire of(const Ladder& ladder) { return ladder.khz(); }
    static std::optional<Ladder> from(const Wire& khz) { return Ladder::from(khz); }
};
template <>
struct Type<Ladder> : Converted<Ladder, LadderInKhz> {};

struct UafpInKhz {
    using Wire = std::vector<Khz>;
    static Wire of(const Uafp& uafp) { return {uafp.values().begin(), uafp.values().end()}; }
    static std::optional<Uafp> from(const Wire& khz) {
        Uafp::Values values{};
        if (khz.size() != values.size()) {
            return std::nullopt;
        }
        std::ranges::copy(khz, values.begin());
        return Uafp::from(values);
    }
};
template <>
struct Type<Uafp> : Converted<Uafp, UafpInKhz> {};

// An empty array means that there is no profile.
struct UafpIfAny {
    using Wire = std::vector<Khz>;
    static Wire of(const std::optional<Uafp>& uafp) { return uafp ? UafpInKhz::of(*uafp) : Wire(); }
    static std::optional<std::optional<Uafp>> from(const Wire& khz) {
        using Read = std::optional<std::optional<Uafp>>;
        const auto uafp = UafpInKhz::from(khz);
        return uafp || khz.empty() ? Read(std::in_place, uafp) : Read();
    }
};
template <>
struct Type<std::optional<Uafp>> : Converted<std::optional<Uafp>, UafpIfAny> {};

struct LearningEventInARow {
    using Wire =
        std::tuple<std::int64_t, std::int64_t, std::string, PolicyId, std::uint32_t, Khz, Khz, Khz, Ppm, std::int64_t>;
    static constexpr const char* kUndo = "undo";  // this and kProbe stand in the place of a key
    static constexpr const char* kProbe = "probe";
    static Wire of(const LearningEvent& event) {
        const Lesson& lesson = event.lesson;
        return {event.seq,
                event.at.time_since_epoch().count(),
                event.undoes != 0 ? kUndo : cause_of(lesson),
                lesson.policy,
                lesson.level.value,
                lesson.from,
                lesson.to,
                lesson.current,
                lesson.utilisation,
                event.undoes};
    }
    static std::optional<LearningEvent> from(const Wire& row) {
        const auto& [seq, micros, key, policy, level, from, to, current, utilisation, undoes] = row;
        const bool probe = key == kProbe;
        const auto pressed = probe ? std::optional(Key::Power) : KeyByName::from(key);
        if (level >= Uafp::kLevels || (undoes == 0 ? !pressed : key != kUndo)) {
            return std::nullopt;
        }
        return LearningEvent{.seq = seq,
                             .at = WallTime(Micros(micros)),
                             .lesson = {.key = pressed.value_or(Key::Performance),
                                        .policy = policy,
                                        .level = Level{static_cast<std::uint8_t>(level)},
                                        .from = from,
                                        .to = to,
                                        .current = current,
                                        .utilisation = utilisation,
                                        .probe = probe},
                             .undoes = undoes};
    }
};
template <>
struct Type<LearningEvent> : Converted<LearningEvent, LearningEventInARow> {};

// Has no user, because the caller of Undo named one.
struct UndoneInARow {
    using Wire = std::tuple<std::string, LearningEvent>;
    static Wire of(const UndoneLesson& undone) { return {profile_name(undone.whom), undone.event}; }
    static std::optional<UndoneLesson> from(const Wire& row) {
        return UndoneLesson{.whom = {.user = {}, .app = std::get<0>(row)}, .event = std::get<1>(row)};
    }
};
template <>
struct Type<UndoneLesson> : Converted<UndoneLesson, UndoneInARow> {};

struct PublicKeyInBytes {
    using Wire = std::vector<std::uint8_t>;
    static Wire of(const PublicKey& key) { return {key.begin(), key.end()}; }
    static std::optional<PublicKey> from(const Wire& bytes) {
        PublicKey key{};
        if (bytes.size() != key.size()) {
            return std::nullopt;
        }
        std::ranges::copy(bytes, key.begin());
        return key;
    }
};
template <>
struct Type<PublicKey> : Converted<PublicKey, PublicKeyInBytes> {};

}  // namespace happe::wire
