// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/source_watch.h"

#include <QStandardPaths>

namespace happe::ui {

SourceWatch::SourceWatch(const QDBusConnection& session_bus) : extension_(session_bus) {
    names_.setConnection(session_bus);
    names_.setWatchedServices(
        {QStringLiteral("org.kde.KWin"), QStringLiteral("org.gnome.Shell"), QStringLiteral("org.happe.Focus1")});
    const QString mine = session_bus.baseService();
    connect(&names_, &QDBusServiceWatcher::serviceOwnerChanged, this,
            [this, mine](const QString& /*name*/, const QString& before, const QString& now) {
                if (before != mine && now != mine) {
                    emit changed();
                }
            });
    connect(&extension_, &ExtensionWatch::changed, this, &SourceWatch::changed);

    const QString runtime = QStandardPaths::writableLocation(QStandardPaths::RuntimeLocation);
    folders_.addPaths({runtime, QStringLiteral("/tmp/.X11-unix")});
    connect(&folders_, &QFileSystemWatcher::directoryChanged, this, &SourceWatch::changed);
}

}  // namespace happe::ui
