// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/owner_reasons.h"

#include "ui/bus/bus_objects.h"

#include <algorithm>

namespace happe::ui {
namespace {

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
    const auto key = lesson.probe ? std::optional(Key::Power) : key_of(cause);
    lesson.key = key == Key::Power ? happe::Key::Power : happe::Key::Performance;
    if (level >= Uafp::kLevels || (!key && undoes == 0)) {
        return std::nullopt;
    }
    return LearningEvent{.seq = number, .at = WallTime(Micros(at_us)), .lesson = lesson, .undoes = undoes};
}

}  // namespace

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

}  // namespace happe::ui
