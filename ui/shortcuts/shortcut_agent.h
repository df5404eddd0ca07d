// SPDX-License-Identifier: GPL-2.0-or-later
// While the user wants it, has the two keys as shortcuts of the desktop, and tells happed of each press. happed decides
// whether the press counts (docs/dbus.md, Feedback).
#pragma once

#include "ui/shortcuts/portal_session.h"
#include "ui/shortcuts/shortcut_choice.h"

#include <QDBusConnection>
#include <QDBusServiceWatcher>
#include <QObject>

namespace happe::ui {

class ShortcutAgent final : public QObject {
    Q_OBJECT

public:
    ShortcutAgent(QDBusConnection system_bus, QDBusConnection session_bus);

    void start();

signals:
    // What has become of the shortcuts.
    void said(const QString& what);

private:
    void follow();
    void open_session();
    void end_session();
    void take(const Shortcuts& given);
    void refuse(bool certain);

    QDBusConnection system_;
    QDBusConnection session_bus_;
    QDBusServiceWatcher portal_;
    ShortcutChoice choice_;
    PortalSession* session_ = nullptr;  // a child; it may be the one that calls when it ends
};

}  // namespace happe::ui
