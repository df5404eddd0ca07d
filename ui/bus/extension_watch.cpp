// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/bus/extension_watch.h"

#include <QDBusReply>

namespace happe::ui {
namespace {

const QString kGnomeShell = QStringLiteral("org.gnome.Shell");
const QString kShellPath = QStringLiteral("/org/gnome/Shell");
const QString kExtensions = QStringLiteral("org.gnome.Shell.Extensions");
const QString kUuid = QStringLiteral("happe@happe.org");
constexpr int kShellPatience = 1000;  // milliseconds

}  // namespace

ExtensionWatch::ExtensionWatch(QDBusConnection session_bus) {
    session_bus.connect(kGnomeShell, kShellPath, kExtensions, QStringLiteral("ExtensionStateChanged"), this,
                        SLOT(on_state(QString, QVariantMap)));
}

QDBusMessage ExtensionWatch::call(const QString& method) {
    QDBusMessage message = QDBusMessage::createMethodCall(kGnomeShell, kShellPath, kExtensions, method);
    message.setAutoStartService(false);
    return message << kUuid;
}

bool ExtensionWatch::is_enabled(const QVariantMap& info) {
    constexpr int kEnabled = 1;  // GNOME Shell's ExtensionState
    return info.value(QStringLiteral("state")).toInt() == kEnabled;
}

bool ExtensionWatch::enabled(const QDBusConnection& session_bus) {
    const QDBusReply<QVariantMap> answer =
        session_bus.call(call(QStringLiteral("GetExtensionInfo")), QDBus::Block, kShellPatience);
    return answer.isValid() && is_enabled(answer.value());
}

void ExtensionWatch::on_state(const QString& extension, const QVariantMap& state) {
    if (extension == kUuid) {
        emit changed(is_enabled(state));
    }
}

}  // namespace happe::ui
