// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/bus/property_watch.h"

#include <QDBusPendingReply>
#include <utility>

namespace happe::ui {
namespace {

const QString kProperties = QStringLiteral("org.freedesktop.DBus.Properties");

}  // namespace

QDBusMessage properties_call(const BusObject& object) {
    QDBusMessage question =
        QDBusMessage::createMethodCall(object.service, object.path, kProperties, QStringLiteral("GetAll"));
    question.setAutoStartService(false);
    return question << object.interface;
}

PropertyWatch::PropertyWatch(QDBusConnection bus, BusObject object, const QString& signal)
    : bus_(std::move(bus)),
      object_(std::move(object)),
      owner_(object_.service, bus_, QDBusServiceWatcher::WatchForOwnerChange) {
    bus_.connect(object_.service, object_.path, kProperties, QStringLiteral("PropertiesChanged"), this,
                 SLOT(on_changed(QString, QVariantMap, QStringList)));
    if (!signal.isEmpty()) {
        bus_.connect(object_.service, object_.path, object_.interface, signal, this, SIGNAL(signalled(QString)));
    }
    connect(&owner_, &QDBusServiceWatcher::serviceRegistered, this, [this] { refresh(); });
    connect(&owner_, &QDBusServiceWatcher::serviceUnregistered, this, [this] { emit gone(); });
    refresh();
}

void PropertyWatch::on_changed(const QString& interface, const QVariantMap& /*changed*/,
                               const QStringList& /*invalidated*/) {
    if (interface == object_.interface) {
        refresh();
    }
}

// Asks one question at a time. After changes meanwhile, asks once more.
void PropertyWatch::refresh() {
    ask_again_ = asking_;
    if (std::exchange(asking_, true)) {
        return;
    }
    ask(bus_, properties_call(object_), this, [this](const QDBusMessage& answer) { answered(answer); });
}

void PropertyWatch::answered(const QDBusMessage& answer) {
    asking_ = false;
    if (std::exchange(ask_again_, false)) {
        refresh();
        return;
    }
    const QDBusPendingReply<QVariantMap> properties(answer);
    if (properties.isValid()) {
        emit there(properties.value());
    } else {
        emit gone();
    }
}

}  // namespace happe::ui
