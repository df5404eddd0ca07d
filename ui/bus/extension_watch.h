// SPDX-License-Identifier: GPL-2.0-or-later
// Whether GNOME Shell runs HAPPE's extension (ui/gnome-shell).
#pragma once

#include <QDBusConnection>
#include <QObject>
#include <QVariantMap>

namespace happe::ui {

class ExtensionWatch final : public QObject {
    Q_OBJECT

public:
    explicit ExtensionWatch(QDBusConnection session_bus);

    // Asks GNOME Shell and waits for at most a second; false if it does not answer.
    [[nodiscard]] static bool enabled(const QDBusConnection& session_bus);

signals:
    // GNOME Shell has switched it on or off, or tries to.
    void changed(bool enabled);

private slots:
    void on_state(const QString& extension, const QVariantMap& state);
};

}  // namespace happe::ui
