// SPDX-License-Identifier: GPL-2.0-or-later
// Notices without polling that a source of the focus may have appeared.
#pragma once

#include "ui/bus/extension_watch.h"

#include <QDBusServiceWatcher>
#include <QFileSystemWatcher>

namespace happe::ui {

class SourceWatch final : public QObject {
    Q_OBJECT

public:
    explicit SourceWatch(const QDBusConnection& session_bus);

signals:
    // A compositor or shell has appeared on the bus, GNOME has switched the extension on, another agent has stopped
    // listening, or a socket has appeared or gone.
    void changed();

private:
    QDBusServiceWatcher names_;
    ExtensionWatch extension_;
    QFileSystemWatcher folders_;
};

}  // namespace happe::ui
