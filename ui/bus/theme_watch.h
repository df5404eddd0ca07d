// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the desktop is dark or light: org.freedesktop.appearance of the settings portal, on the session bus.
#pragma once

#include <QDBusConnection>
#include <QDBusVariant>
#include <QObject>

namespace happe::ui {

class ThemeWatch final : public QObject {
    Q_OBJECT

public:
    explicit ThemeWatch(QDBusConnection session_bus);

    // True as long as the desktop does not ask for light.
    [[nodiscard]] bool dark() const { return dark_; }

signals:
    void changed();

private slots:
    void on_setting(const QString& group, const QString& key, const QDBusVariant& value);

private:
    void take(uint scheme);

    bool dark_ = true;
};

}  // namespace happe::ui
