// SPDX-License-Identifier: GPL-2.0-or-later
// Follows an object on a bus: reads its properties at the start, and after each change that the object announces;
// notices when the object appears or goes. It does not poll.
#pragma once

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
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

// A call that asks for all properties of an object, and does not start its service.
[[nodiscard]] QDBusMessage properties_call(const BusObject& object);

// Asks, and passes on the answer if the object that asks still exists.
template <typename Take>
void ask(const QDBusConnection& bus, const QDBusMessage& question, QObject* asker, Take take) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): it belongs to the asker
    auto* const call = new QDBusPendingCallWatcher(bus.asyncCall(question), asker);
    QObject::connect(call, &QDBusPendingCallWatcher::finished, asker, [take](QDBusPendingCallWatcher* finished) {
        finished->deleteLater();
        take(finished->reply());
    });
}

class PropertyWatch final : public QObject {
    Q_OBJECT

public:
    // `signal`: a signal of the interface with a string; may be empty.
    PropertyWatch(QDBusConnection bus, BusObject object, const QString& signal = {});

    // Asks for the present properties.
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
