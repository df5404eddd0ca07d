// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the state of happed and UPower on the bus for the overlay.
#pragma once

#include "ui/bus/property_watch.h"
#include "ui/overlay/overlay_state.h"

#include <QDBusArgument>
#include <QDBusMessage>
#include <QVariantMap>
#include <optional>

namespace happe::ui {

// Calls `read` with each structure of a D-Bus array of this type. A value of another type counts as an empty array.
template <typename Read>
void each_entry(const QVariant& value, const char* type, const Read& read) {
    if (!value.canConvert<QDBusArgument>()) {
        return;
    }
    const auto argument = value.value<QDBusArgument>();
    if (argument.currentSignature() != QLatin1String(type)) {
        return;
    }
    argument.beginArray();
    while (!argument.atEnd()) {
        argument.beginStructure();
        read(argument);
        argument.endStructure();
    }
    argument.endArray();
}

// happed: docs/dbus.md.
[[nodiscard]] BusObject governor_object();
// A call of a happed method, which does not start happed.
[[nodiscard]] QDBusMessage to_governor(const QString& method);
[[nodiscard]] DaemonState governor_of(const QVariantMap& properties);
[[nodiscard]] std::optional<Key> key_of(const QString& name);

// UPower's sum of all batteries.
[[nodiscard]] BusObject battery_object();
// None unless the battery discharges.
[[nodiscard]] std::optional<RealBattery> battery_of(const QVariantMap& properties);

}  // namespace happe::ui
