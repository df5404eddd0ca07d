// SPDX-License-Identifier: GPL-2.0-or-later
// The wizard's calls of happed: docs/dbus.md.
#pragma once

#include <QByteArray>
#include <QDBusConnection>
#include <QDBusServiceWatcher>
#include <QObject>
#include <QString>
#include <functional>
#include <tl/expected.hpp>

class QDBusMessage;

namespace happe::study {

// The answer, or an error that reveals no condition.
template <typename T>
using Result = tl::expected<T, QString>;

class DaemonProxy final : public QObject {
    Q_OBJECT

public:
    template <typename T>
    using Then = std::function<void(const Result<T>&)>;

    explicit DaemonProxy(QDBusConnection bus);

    // Starts a sealed run, and passes on happed's name for it. The run ends at the latest when this program leaves the
    // bus.
    void start(const QByteArray& seal, const QString& study, const QString& run, const Then<QString>& then);
    // Ends a run, or fetches one that has ended. Passes on its trace.
    void stop(const QString& run, const Then<QByteArray>& then);
    void facts(const QString& run, const Then<QByteArray>& then);

    // Makes HAPPE step aside until release().
    void hold(const QString& application, const Then<uint>& then);
    void release(uint cookie);

    void device_key(const Then<QByteArray>& then);

signals:
    void gone();
    void came();

private:
    template <typename T>
    void ask(const QDBusMessage& question, const std::function<Result<T>(const QDBusMessage&)>& read,
             const Then<T>& then);

    QDBusConnection bus_;
    QDBusServiceWatcher owner_;
};

}  // namespace happe::study
