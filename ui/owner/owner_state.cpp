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

std::vector<Policy> policies_of(const DaemonState& governor) {
    std::vector<Policy> all;
    for (const auto& policy : governor.policies) {
        std::vector<Khz> khz;
        std::ranges::transform(policy.ladder_khz, std::back_inserter(khz),
                               [](std::uint32_t each) { return Khz{each}; });
        if (const auto ladder = Ladder::from(khz)) {
            all.push_back({PolicyId{static_cast<std::uint16_t>(policy.id)}, policy.cpus, *ladder});
        }
    }
    return all;
}

std::optional<QDBusArgument> argument_of(const QVariant& value, const char* type) {
    if (!value.canConvert<QDBusArgument>()) {
        return std::nullopt;
    }
    const auto argument = value.value<QDBusArgument>();
    return argument.currentSignature() == QLatin1String(type) ? std::optional(argument) : std::nullopt;
}

std::optional<Uafp> profile_of(const QVariant& value) {
    const auto argument = argument_of(value, "au");
    const QList<uint> khz = argument ? qdbus_cast<QList<uint>>(*argument) : QList<uint>();
    Uafp::Values values{};
    if (khz.size() != static_cast<qsizetype>(values.size())) {
        return std::nullopt;
    }
    std::ranges::transform(khz, values.begin(), [](uint each) { return Khz{each}; });
    return Uafp::from(values);
}

ShownDescent descent_of(const QVariant& value) {
    ShownDescent descent;
    if (const auto argument = argument_of(value, "(suu)")) {
        const QDBusArgument& entry = *argument;
        QString state;
        entry.beginStructure();
        entry >> state >> descent.restored.value >> descent.seconds;
        entry.endStructure();
        descent.state = state.toStdString();
    }
    return descent;
}

// Nothing if this is neither a lesson of a press or probe, nor an undone one.
std::optional<LearningEvent> event_of(const QDBusArgument& entry) {
    qlonglong number = 0;
    qlonglong at_us = 0;
    QString cause;
    uint level = 0;
    qlonglong undoes = 0;
    Lesson lesson;
    entry >> number >> at_us >> cause >> lesson.policy.value >> level >> lesson.from.value >> lesson.to.value >>
        lesson.current.value >> lesson.utilisation.value >> undoes;
    lesson.level = Level{static_cast<std::uint8_t>(level)};
    lesson.probe = cause == QLatin1String("probe");
    const auto key = lesson.probe ? Key::Power : key_of(cause);
    lesson.key = key.value_or(Key::Performance);
    if (level >= Uafp::kLevels || (!key && undoes == 0)) {
        return std::nullopt;
    }
    return LearningEvent{.seq = number, .at = WallTime(Micros(at_us)), .lesson = lesson, .undoes = undoes};
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

Situation situation_of(const QVariantMap& properties) {
    const DaemonState governor = governor_of(properties);
    Situation situation{.policies = policies_of(governor),
                        .targets = {},
                        .limits = {},
                        .sample = {},
                        .profile = profile_of(properties.value(QStringLiteral("Profile"))),
                        .descent = descent_of(properties.value(QStringLiteral("Descent"))),
                        .saver = {}};
    for (const auto& [id, khz] : governor.target_khz) {
        situation.targets.push_back({PolicyId{static_cast<std::uint16_t>(id)}, Khz{khz}});
    }
    for (const auto& [id, sample] : governor.samples) {
        situation.sample.push_back({PolicyId{static_cast<std::uint16_t>(id)}, Khz{sample.khz},
                                    Ppm{sample.utilisation_ppm}, Level{sample.level}});
    }
    each_entry(properties.value(QStringLiteral("Limits")), "a(quu)", [&](const QDBusArgument& entry) {
        PolicyLimits limits;
        entry >> limits.policy.value >> limits.least.value >> limits.most.value;
        situation.limits.push_back(limits);
    });
    each_entry(properties.value(QStringLiteral("Savers")), "a(ss)", [&](const QDBusArgument& entry) {
        QString application;
        QString reason;
        entry >> application >> reason;
        situation.saver = situation.saver.empty() ? application.toStdString() : situation.saver;
    });
    return situation;
}

std::vector<LearningEvent> lessons_of(const QVariant& events) {
    std::vector<LearningEvent> all;
    each_entry(events, "a(xxsquuuuux)", [&](const QDBusArgument& entry) {
        if (const auto event = event_of(entry)) {
            all.push_back(*event);
        }
    });
    return all;
}

std::vector<LearningEvent> undone_of(const QVariant& undone) {
    std::vector<LearningEvent> all;
    each_entry(undone, "a(s(xxsquuuuux))", [&](const QDBusArgument& entry) {
        QString application;
        entry >> application;
        entry.beginStructure();
        if (const auto event = event_of(entry)) {
            all.push_back(*event);
        }
        entry.endStructure();
    });
    return all;
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
