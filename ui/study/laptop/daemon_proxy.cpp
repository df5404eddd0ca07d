// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/laptop/daemon_proxy.h"

#include <QDBusError>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusUnixFileDescriptor>
#include <QFile>
#include <QVariantMap>
#include <limits>
#include <utility>

namespace happe::study {
namespace {

const QString kName = QStringLiteral("org.happe.Governor1");
const QString kObject = QStringLiteral("/org/happe/Governor1");
constexpr int kAuthorizationMs = 120'000;  // a person may have to type an administrator's password

// A call for which polkit may ask for a password.
QDBusMessage call(const QString& method) {
    QDBusMessage question = QDBusMessage::createMethodCall(kName, kObject, kName, method);
    question.setInteractiveAuthorizationAllowed(true);
    return question;
}

template <typename T>
Result<T> value_of(const QDBusMessage& answer) {
    const QDBusPendingReply<T> reply(answer);
    if (reply.isError()) {
        return tl::unexpected(reply.error().message());
    }
    return reply.value();
}

// Reads the file from its start. Only we use this descriptor.
Result<QByteArray> file_of(const QDBusMessage& answer) {
    return value_of<QDBusUnixFileDescriptor>(answer).and_then(
        [](const QDBusUnixFileDescriptor& descriptor) -> Result<QByteArray> {
            QFile file;
            if (!file.open(descriptor.fileDescriptor(), QIODevice::ReadOnly)) {
                return tl::unexpected(file.errorString());
            }
            return file.readAll();
        });
}

}  // namespace

DaemonProxy::DaemonProxy(QDBusConnection bus)
    : bus_(std::move(bus)), owner_(kName, bus_, QDBusServiceWatcher::WatchForOwnerChange) {
    connect(&owner_, &QDBusServiceWatcher::serviceUnregistered, this, &DaemonProxy::gone);
    connect(&owner_, &QDBusServiceWatcher::serviceRegistered, this, &DaemonProxy::came);
}

template <typename T>
void DaemonProxy::ask(const QDBusMessage& question, const std::function<Result<T>(const QDBusMessage&)>& read,
                      const Then<T>& then) {
    if (!bus_.isConnected()) {  // otherwise Qt would never end the call
        const auto refuse = [then, why = bus_.lastError().message()] { then(tl::unexpected(why)); };
        QMetaObject::invokeMethod(this, refuse, Qt::QueuedConnection);
        return;
    }
    const auto answered = [read, then](QDBusPendingCallWatcher* finished) {
        finished->deleteLater();
        then(read(finished->reply()));
    };
    auto* const watcher = new QDBusPendingCallWatcher(bus_.asyncCall(question, kAuthorizationMs), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, answered);
}

void DaemonProxy::start(const QByteArray& seal, const QString& study, const QString& run, const Then<QString>& then) {
    const QVariantMap what{
        {QStringLiteral("sealed"), seal}, {QStringLiteral("study"), study}, {QStringLiteral("run"), run}};
    const QDBusMessage question = call(QStringLiteral("StartRun")) << what;
    ask<QString>(question, value_of<QString>, then);
}

void DaemonProxy::stop(const QString& run, const Then<QByteArray>& then) {
    const QDBusMessage question = call(QStringLiteral("StopRun")) << run;
    ask<QByteArray>(question, file_of, then);
}

void DaemonProxy::facts(const QString& run, const Then<QByteArray>& then) {
    const QDBusMessage question = call(QStringLiteral("RunFacts")) << run;
    const auto bytes = [](const QDBusMessage& answer) {
        return value_of<QString>(answer).map([](const QString& text) { return text.toUtf8(); });
    };
    ask<QByteArray>(question, bytes, then);
}

void DaemonProxy::hold(const QString& application, const Then<uint>& then) {
    const QDBusMessage question = call(QStringLiteral("Hold"))
                                  << application << QStringLiteral("practice before a study's runs");
    ask<uint>(question, value_of<uint>, then);
}

void DaemonProxy::release(uint cookie) {
    const QDBusMessage question = call(QStringLiteral("Release")) << cookie;
    bus_.asyncCall(question);
}

void DaemonProxy::device_key(const Then<QByteArray>& then) {
    ask<QByteArray>(call(QStringLiteral("DeviceKey")), value_of<QByteArray>, then);
}

}  // namespace happe::study
