// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/owner_state.h"

#include "ui/bus/bus_entries.h"
#include "ui/bus/bus_objects.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>

namespace happe::ui {
namespace {

constexpr const char* kEventType = "a(xxsquuuuux)";
constexpr const char* kProfileType = "a(sau)";

QVariantMap settings_of(const QVariantMap& properties) {
    const QVariant value = properties.value(QStringLiteral("Settings"));
    return value.canConvert<QDBusArgument>() ? qdbus_cast<QVariantMap>(value.value<QDBusArgument>()) : value.toMap();
}

// docs/traces.md: the level is the tenth of utilisation * frequency / top frequency.
std::optional<Work> work_of(const DaemonState& governor) {
    std::optional<Work> most;
    for (const auto& policy : governor.policies) {
        const auto target = governor.target_khz.find(policy.id);
        const auto sample = governor.samples.find(policy.id);
        if (policy.ladder_khz.empty() || policy.ladder_khz.back() == 0 || target == governor.target_khz.end() ||
            sample == governor.samples.end()) {
            continue;
        }
        const std::uint64_t done = std::uint64_t{sample->second.utilisation_ppm} * sample->second.khz;
        const std::uint64_t level = done * kLevels / (std::uint64_t{1'000'000} * policy.ladder_khz.back());
        const Work work{target->second, sample->second.utilisation_ppm,
                        static_cast<int>(std::min<std::uint64_t>(level, kLevels - 1))};
        if (!most || work.level > most->level) {
            most = work;
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
    return state;
}

std::vector<Press> presses_of(const QVariant& events) {
    std::map<qlonglong, Press> standing;  // by number: not undone
    each_entry(events, kEventType, [&](const QDBusArgument& entry) {
        qlonglong number = 0;
        qlonglong at_us = 0;
        QString key;
        ushort policy = 0;
        uint level = 0;
        Press press;
        uint ran = 0;
        uint utilisation = 0;
        qlonglong undoes = 0;
        entry >> number >> at_us >> key >> policy >> level >> press.from_khz >> press.to_khz >> ran >> utilisation >>
            undoes;
        standing.erase(undoes);
        const auto known = key_of(key);
        if (known && level < kLevels) {
            press.at = QDateTime::fromMSecsSinceEpoch(at_us / 1000);
            press.key = *known;
            press.level = static_cast<int>(level);
            standing.insert_or_assign(number, press);
        }
    });
    std::vector<Press> presses;
    std::ranges::copy(standing | std::views::values, std::back_inserter(presses));
    return presses;
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
