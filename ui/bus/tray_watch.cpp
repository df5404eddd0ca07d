// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/bus/tray_watch.h"

#include "ui/bus/property_watch.h"

#include <QDBusPendingReply>
#include <QDBusVariant>

namespace happe::ui {
namespace {

const QString kWatcher = QStringLiteral("org.kde.StatusNotifierWatcher");  // on every desktop
const QString kWatcherPath = QStringLiteral("/StatusNotifierWatcher");

}  // namespace

TrayWatch::TrayWatch(const QDBusConnection& session_bus)
    : watchers_(kWatcher, session_bus, QDBusServiceWatcher::WatchForRegistration) {
    connect(&watchers_, &QDBusServiceWatcher::serviceRegistered, this,
            [this, session_bus] { ask_for_host(session_bus); });
    QDBusConnection(session_bus)
        .connect(kWatcher, kWatcherPath, kWatcher, QStringLiteral("StatusNotifierHostRegistered"), this,
                 SIGNAL(appeared()));
}

// A watcher may appear before its host, the program that shows icons, or together with it.
void TrayWatch::ask_for_host(const QDBusConnection& session_bus) {
    QDBusMessage question = QDBusMessage::createMethodCall(
        kWatcher, kWatcherPath, QStringLiteral("org.freedesktop.DBus.Properties"), QStringLiteral("Get"));
    question.setAutoStartService(false);
    question << kWatcher << QStringLiteral("IsStatusNotifierHostRegistered");
    ask(session_bus, question, this, [this](const QDBusMessage& answer) {
        if (const QDBusPendingReply<QDBusVariant> has(answer); has.isValid() && has.value().variant().toBool()) {
            emit appeared();
        }
    });
}

}  // namespace happe::ui
