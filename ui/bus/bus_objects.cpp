// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/bus/bus_objects.h"

#include <QDBusVariant>
#include <algorithm>

namespace happe::ui {
namespace {

constexpr std::uint32_t kDischarging = 2;  // UPower's State
constexpr double kJoulesOfWattHour = 3600.0;

std::vector<DaemonState::Policy> policies_of(const QVariant& ladders) {
    std::vector<DaemonState::Policy> policies;
    each_entry(ladders, "a(qauau)", [&](const QDBusArgument& entry) {
        ushort id = 0;
        QList<uint> cpus;
        QList<uint> khz;
        entry >> id >> cpus >> khz;
        policies.push_back({id, {khz.begin(), khz.end()}, {cpus.begin(), cpus.end()}});
    });
    return policies;
}

std::map<std::uint32_t, std::uint32_t> calibration_of(const QVariant& settings) {
    std::map<std::uint32_t, std::uint32_t> real;
    if (!settings.canConvert<QDBusArgument>()) {
        return real;
    }
    const QVariant table =
        qdbus_cast<QVariantMap>(settings.value<QDBusArgument>()).value(QStringLiteral("calibration"));
    if (table.canConvert<QDBusArgument>()) {
        const auto pairs = qdbus_cast<QMap<uint, uint>>(table.value<QDBusArgument>());
        for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
            real.emplace(pair.key(), pair.value());
        }
    }
    return real;
}

}  // namespace

BusObject governor_object() {
    return {QStringLiteral("org.happe.Governor1"), QStringLiteral("/org/happe/Governor1"),
            QStringLiteral("org.happe.Governor1")};
}

QDBusMessage to_governor(const QString& method) {
    const BusObject governor = governor_object();
    QDBusMessage message = QDBusMessage::createMethodCall(governor.service, governor.path, governor.interface, method);
    message.setAutoStartService(false);
    return message;
}

DaemonState governor_of(const QVariantMap& properties) {
    DaemonState governor;
    governor.indicator = properties.value(QStringLiteral("Indicator"), true).toBool();
    governor.run = properties.value(QStringLiteral("Run")).toString().toStdString();
    governor.application = properties.value(QStringLiteral("Application")).toString().toStdString();
    governor.policies = policies_of(properties.value(QStringLiteral("Ladders")));
    governor.real_khz = calibration_of(properties.value(QStringLiteral("Settings")));
    governor.fastest_us = properties.value(QStringLiteral("Fastest")).toLongLong();
    each_entry(properties.value(QStringLiteral("Limits")), "a(quu)", [&](const QDBusArgument& entry) {
        ushort id = 0;
        uint least = 0;
        uint most = 0;
        entry >> id >> least >> most;
        governor.limit_khz = std::min(governor.limit_khz.value_or(most), most);
    });
    each_entry(properties.value(QStringLiteral("Targets")), "a(qu)", [&](const QDBusArgument& entry) {
        ushort id = 0;
        uint khz = 0;
        entry >> id >> khz;
        governor.target_khz.emplace(id, khz);
    });
    each_entry(properties.value(QStringLiteral("Sample")), "a(quuy)", [&](const QDBusArgument& entry) {
        ushort id = 0;
        DaemonState::Sample sample;
        entry >> id >> sample.khz >> sample.utilisation_ppm >> sample.level;
        governor.samples.emplace(id, sample);
    });
    return governor;
}

std::optional<Key> key_of(const QString& name) {
    if (name == QLatin1String("performance")) {
        return Key::Performance;
    }
    return name == QLatin1String("power") ? std::optional(Key::Power) : std::nullopt;
}

BusObject battery_object() {
    return {QStringLiteral("org.freedesktop.UPower"), QStringLiteral("/org/freedesktop/UPower/devices/DisplayDevice"),
            QStringLiteral("org.freedesktop.UPower.Device")};
}

std::optional<RealBattery> battery_of(const QVariantMap& properties) {
    if (!properties.value(QStringLiteral("IsPresent")).toBool() ||
        properties.value(QStringLiteral("State")).toUInt() != kDischarging) {
        return std::nullopt;
    }
    RealBattery battery{.joules = properties.value(QStringLiteral("Energy")).toDouble() * kJoulesOfWattHour,
                        .watts = properties.value(QStringLiteral("EnergyRate")).toDouble()};
    if (const QVariant percentage = properties.value(QStringLiteral("Percentage")); percentage.isValid()) {
        battery.charge = percentage.toDouble() / 100.0;
    }
    const qint64 told = properties.value(QStringLiteral("TimeToEmpty")).toLongLong();
    if (told > 0) {
        battery.remaining = Seconds(double(told));
    } else if (battery.watts > 0.0) {
        battery.remaining = remaining(battery.joules, battery.watts);
    }
    return battery;
}

}  // namespace happe::ui
