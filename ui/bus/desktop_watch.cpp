// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/bus/desktop_watch.h"

#include "ui/bus/property_watch.h"

#include <QDBusPendingReply>
#include <QDBusReply>
#include <QDBusVariant>
#include <utility>

namespace happe::ui {
namespace {

const QString kService = QStringLiteral("org.freedesktop.portal.Desktop");
const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.Settings");
const QString kGroup = QStringLiteral("org.freedesktop.appearance");
const QString kKey = QStringLiteral("color-scheme");

// Settings.Read wraps the value in a variant, and Qt's answer in another one.
uint unwrapped(QVariant value) {
    while (value.canConvert<QDBusVariant>()) {
        value = value.value<QDBusVariant>().variant();
    }
    return value.toUInt();
}

const QString kWatcher = QStringLiteral("org.kde.StatusNotifierWatcher");  // on every desktop
const QString kWatcherPath = QStringLiteral("/StatusNotifierWatcher");

const QString kGnomeShell = QStringLiteral("org.gnome.Shell");
const QString kShellPath = QStringLiteral("/org/gnome/Shell");
const QString kExtensions = QStringLiteral("org.gnome.Shell.Extensions");
const QString kUuid = QStringLiteral("happe@happe.org");
constexpr int kShellPatience = 1000;  // milliseconds

}  // namespace

ThemeWatch::ThemeWatch(QDBusConnection session_bus)
    : bus_(std::move(session_bus)), portal_(kService, bus_, QDBusServiceWatcher::WatchForRegistration) {
    bus_.connect(kService, kPath, kInterface, QStringLiteral("SettingChanged"), this,
                 SLOT(on_setting(QString, QString, QDBusVariant)));
    connect(&portal_, &QDBusServiceWatcher::serviceRegistered, this, &ThemeWatch::ask);
    ask();
}

void ThemeWatch::ask() {
    QDBusMessage question = QDBusMessage::createMethodCall(kService, kPath, kInterface, QStringLiteral("Read"));
    question.setAutoStartService(false);
    question << kGroup << kKey;
    ui::ask(bus_, question, this, [this](const QDBusMessage& answer) {
        if (const QDBusPendingReply<QDBusVariant> style(answer); style.isValid()) {
            take(unwrapped(QVariant::fromValue(style.value())));
        }
    });
}

void ThemeWatch::on_setting(const QString& group, const QString& key, const QDBusVariant& value) {
    if (group == kGroup && key == kKey) {
        take(unwrapped(QVariant::fromValue(value)));
    }
}

void ThemeWatch::take(uint style) {
    const Style wanted = style <= uint(Style::Light) ? Style(style) : Style::Any;
    if (std::exchange(style_, wanted) != wanted) {
        emit changed();
    }
}

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
