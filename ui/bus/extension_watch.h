// SPDX-License-Identifier: GPL-2.0-or-later
// Follows whether GNOME Shell runs HAPPE's extension (ui/gnome-shell).
#pragma once

#include <QDBusConnection>
#include <QDBusMessage>
#include <QObject>
#include <QVariantMap>

namespace happe::ui {

class ExtensionWatch final : public QObject {
    Q_OBJECT

public:
    explicit ExtensionWatch(QDBusConnection session_bus);

    // A call of GNOME Shell about the extension, which does not start the shell.
    static QDBusMessage call(const QString& method);
    // True if the answer to GetExtensionInfo says that GNOME Shell runs the extension.
    [[nodiscard]] static bool is_enabled(const QVariantMap& info);
    // Asks GNOME Shell and waits for at most a second; false if it does not answer.
    [[nodiscard]] static bool enabled(const QDBusConnection& session_bus);

signals:
    // GNOME Shell has switched the extension on or off, or tries to.
    void changed(bool enabled);

private slots:
    void on_state(const QString& extension, const QVariantMap& state);
};

}  // namespace happe::ui
