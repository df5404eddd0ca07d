// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/bus/extension_watch.h"

#include <QDBusMessage>
#include <QDBusReply>

namespace happe::ui {
namespace {

const QString kGnomeShell = QStringLiteral("org.gnome.Shell");
const QString kShellPath = QStringLiteral("/org/gnome/Shell");
const QString kExtensions = QStringLiteral("org.gnome.Shell.Extensions");
const QString kUuid = QStringLiteral("happe@happe.org");
constexpr int kShellPatience = 1000;  // milliseconds

bool is_enabled(const QVariantMap& state) {
    constexpr int kEnabled = 1;  // GNOME Shell's ExtensionState
    return state.value(QStringLiteral("state")).toInt() == kEnabled;
}

}  // namespace

ExtensionWatch::ExtensionWatch(QDBusConnection session_bus) {
    session_bus.connect(kGnomeShell, kShellPath, kExtensions, QStringLiteral("ExtensionStateChanged"), this,
                        SLOT(on_state(QString, QVariantMap)));
}

bool ExtensionWatch::enabled(const QDBusConnection& session_bus) {
    QDBusMessage question =
        QDBusMessage::createMethodCall(kGnomeShell, kShellPath, kExtensions, QStringLiteral("GetExtensionInfo"));
    question.setAutoStartService(false);
    question << kUuid;
    const QDBusReply<QVariantMap> answer = session_bus.call(question, QDBus::Block, kShellPatience);
    return answer.isValid() && is_enabled(answer.value());
}

void ExtensionWatch::on_state(const QString& extension, const QVariantMap& state) {
    if (extension == kUuid) {
        emit changed(is_enabled(state));
    }
}

}  // namespace happe::ui
