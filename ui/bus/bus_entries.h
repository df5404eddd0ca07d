// SPDX-License-Identifier: GPL-2.0-or-later
// Reads arrays of structures from the bus.
#pragma once

#include <QDBusArgument>
#include <QVariant>

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

}  // namespace happe::ui
