// SPDX-License-Identifier: GPL-2.0-or-later
// An object on a bus, followed: its properties now, again whenever it says that they changed, and when it comes or
// goes. Asks for nothing while nothing happens.
#pragma once

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusServiceWatcher>
#include <QObject>
#include <QString>
#include <QVariantMap>

namespace happe::ui {

struct BusObject {
    QString service;
    QString path;
    QString interface;
};

class PropertyWatch final : public QObject {
    Q_OBJECT

public:
    // `signal`: one of the interface's own, with a string; may be empty.
    PropertyWatch(QDBusConnection bus, BusObject object, const QString& signal = {});

    // Asks for the properties as they are now.
    void refresh();

signals:
    void there(const QVariantMap& properties);
    void gone();
    void signalled(const QString& argument);

private slots:
    void on_changed(const QString& interface, const QVariantMap& changed, const QStringList& invalidated);

private:
    void answered(const QDBusMessage& answer);

    QDBusConnection bus_;
    BusObject object_;
    QDBusServiceWatcher owner_;
    bool asking_ = false;
    bool ask_again_ = false;
};

}  // namespace happe::ui
