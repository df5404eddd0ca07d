// SPDX-License-Identifier: GPL-2.0-or-later
// Follows the desktop's style, dark or light: org.freedesktop.appearance of the settings portal, on the session bus.
#pragma once

#include <QDBusConnection>
#include <QDBusServiceWatcher>
#include <QDBusVariant>
#include <QObject>

namespace happe::ui {

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

}  // namespace happe::ui
