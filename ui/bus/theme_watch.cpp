// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/bus/theme_watch.h"

#include "ui/bus/property_watch.h"

#include <QDBusPendingReply>
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

}  // namespace happe::ui
