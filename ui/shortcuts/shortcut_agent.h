// SPDX-License-Identifier: GPL-2.0-or-later
// Holds the two keys as shortcuts of the desktop while the user wants this, and reports each press to happed. happed
// decides whether the press counts (docs/dbus.md, Feedback).
#pragma once

#include "ui/shortcuts/portal_session.h"
#include "ui/shortcuts/shortcut_choice.h"

#include <QDBusConnection>
#include <QDBusServiceWatcher>
#include <QObject>
#include <QTimer>

namespace happe::ui {

class ShortcutAgent final : public QObject {
    Q_OBJECT

public:
    ShortcutAgent(QDBusConnection system_bus, QDBusConnection session_bus);

    void start();

signals:
    // A message about the state of the shortcuts.
    void said(const QString& what);

private:
    void follow();
    void open_session();
    void end_session();
    void session_closed();
    void take(const Shortcuts& given);
    void refuse(bool certain);

    QDBusConnection system_;
    QDBusConnection session_bus_;
    QDBusServiceWatcher portal_;
    ShortcutChoice choice_;
    PortalSession* session_ = nullptr;  // a child object; end_session() may run within its signal
    bool given_ = false;                // this session has given shortcuts
    QTimer again_;                      // when to open another session
};

}  // namespace happe::ui
