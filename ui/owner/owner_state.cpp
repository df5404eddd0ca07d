// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/owner_state.h"

#include "ui/bus/bus_objects.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>

namespace happe::ui {
namespace {

constexpr const char* kProfileType = "a(sau)";

QVariantMap settings_of(const QVariantMap& properties) {
    const QVariant value = properties.value(QStringLiteral("Settings"));
    return value.canConvert<QDBusArgument>() ? qdbus_cast<QVariantMap>(value.value<QDBusArgument>()) : value.toMap();
}

std::optional<Work> work_of(const DaemonState& governor) {
    std::optional<Work> most;
    for (const auto& [policy, sample] : governor.samples) {
        const auto target = governor.target_khz.find(policy);
        if (target != governor.target_khz.end() && sample.level < kLevels && (!most || sample.level > most->level)) {
            most = Work{target->second, sample.utilisation_ppm, sample.level};
        }
    }
    return most;
}

}  // namespace

bool is_this_window(const QString& application) {
    return application == QLatin1String("happe-tray") || application == QLatin1String("org.happe.Window");
}

OwnerState owner_state_of(const QVariantMap& properties) {
    const DaemonState governor = governor_of(properties);
    const QVariantMap settings = settings_of(properties);
    OwnerState state{.there = true,
                     .state = properties.value(QStringLiteral("State")).toString(),
                     .reason = properties.value(QStringLiteral("Reason")).toString(),
                     .application = properties.value(QStringLiteral("Application")).toString(),
                     .performance_key = settings.value(QStringLiteral("keys.performance")).toString(),
                     .power_key = settings.value(QStringLiteral("keys.power")).toString(),
                     .keyboards = properties.value(QStringLiteral("Keyboards")).toUInt(),
                     .work = work_of(governor)};
    for (const auto& policy : governor.policies) {
        if (!policy.ladder_khz.empty() &&
            (state.ladder_khz.empty() || policy.ladder_khz.back() > state.ladder_khz.back())) {
            state.ladder_khz = policy.ladder_khz;
        }
    }
    std::ranges::transform(state.ladder_khz, std::back_inserter(state.speeds_khz),
                           [&](std::uint32_t khz) { return governor.speed(khz); });
    return state;
}

std::vector<LearningEvent> standing(std::span<const LearningEvent> events) {
    std::map<std::int64_t, LearningEvent> lessons;  // by number
    for (const LearningEvent& event : events) {
        if (event.undoes == 0) {
            lessons.insert_or_assign(event.seq, event);
        } else {
            lessons.erase(event.undoes);
        }
    }
    const auto all = lessons | std::views::values;
    return {all.begin(), all.end()};
}

std::vector<Press> presses_of(std::span<const LearningEvent> events) {
    std::vector<Press> presses;
    for (const LearningEvent& event : standing(events)) {
        const Lesson& lesson = event.lesson;
        if (!lesson.probe) {
            presses.push_back({.number = event.seq,
                               .at = QDateTime::fromMSecsSinceEpoch(event.at.time_since_epoch().count() / 1000),
                               .key = lesson.key == happe::Key::Performance ? Key::Performance : Key::Power,
                               .level = lesson.level.value,
                               .from_khz = lesson.from.value,
                               .to_khz = lesson.to.value});
        }
    }
    return presses;
}

std::optional<TodaysSaving> saving_of(const QVariant& time_spent, const std::vector<std::uint32_t>& speeds_khz,
                                      const PowerModel& model) {
    if (!time_spent.canConvert<QDBusArgument>()) {
        return std::nullopt;
    }
    const auto today = time_spent.value<QDBusArgument>();
    if (today.currentSignature() != QLatin1String("(xa(uyu))")) {
        return std::nullopt;
    }
    qlonglong since_us = 0;
    std::vector<Spent> spent;
    today.beginStructure();
    today >> since_us;
    today.beginArray();
    while (!today.atEnd()) {
        uint khz = 0;
        uchar percent = 0;
        uint milliseconds = 0;
        today.beginStructure();
        today >> khz >> percent >> milliseconds;
        today.endStructure();
        spent.push_back({khz, percent / 100.0, std::chrono::milliseconds(milliseconds)});
    }
    today.endArray();
    today.endStructure();
    const auto saving = saving_of(spent, speeds_khz, model);
    return saving ? std::optional(TodaysSaving{QDateTime::fromMSecsSinceEpoch(since_us / 1000), *saving})
                  : std::nullopt;
}

std::vector<OwnProfile> profiles_of(const QVariant& profiles) {
    std::vector<OwnProfile> all;
    each_entry(profiles, kProfileType, [&](const QDBusArgument& entry) {
        OwnProfile profile;
        QList<uint> khz;
        entry >> profile.application >> khz;
        profile.khz.assign(khz.begin(), khz.end());
        if (khz.size() == kLevels) {
            all.push_back(profile);
        }
    });
    return all;
}

}  // namespace happe::ui
