// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the state of happed and UPower on the bus for the overlay.
#pragma once

#include "ui/bus/property_watch.h"
#include "ui/overlay/overlay_state.h"

#include <QDBusMessage>
#include <QVariantMap>
#include <optional>

namespace happe::ui {

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
