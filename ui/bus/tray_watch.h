// SPDX-License-Identifier: GPL-2.0-or-later
// Notices without polling that the desktop has got a tray.
#pragma once

#include <QDBusConnection>
#include <QDBusServiceWatcher>
#include <QObject>

namespace happe::ui {

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

}  // namespace happe::ui
