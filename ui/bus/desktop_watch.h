// SPDX-License-Identifier: GPL-2.0-or-later
// Follows the desktop on the session bus: its style, its tray, and GNOME's extension.
#pragma once

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusServiceWatcher>
#include <QDBusVariant>
#include <QObject>
#include <QVariantMap>

namespace happe::ui {

// Follows the desktop's style, dark or light: org.freedesktop.appearance of the settings portal.
class ThemeWatch final : public QObject {
    Q_OBJECT

public:
    explicit ThemeWatch(QDBusConnection session_bus);

    enum class Style : uint { Any, Dark, Light };  // the portal's numbers

    // The style that the desktop asks for.
    [[nodiscard]] Style style() const { return style_; }

signals:
    void changed();

private slots:
    void on_setting(const QString& group, const QString& key, const QDBusVariant& value);

private:
    void ask();
    void take(uint style);

    QDBusConnection bus_;
    QDBusServiceWatcher portal_;
    Style style_ = Style::Any;
};

// Notices without polling that the desktop has got a tray.
class TrayWatch final : public QObject {
    Q_OBJECT

public:
    explicit TrayWatch(const QDBusConnection& session_bus);

signals:
    // Programs can register icons, and another program shows them. May be emitted twice.
    void appeared();

private:
    void ask_for_host(const QDBusConnection& session_bus);

    QDBusServiceWatcher watchers_;
};

// Follows whether GNOME Shell runs HAPPE's extension (ui/gnome-shell).
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
