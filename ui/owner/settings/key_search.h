// SPDX-License-Identifier: GPL-2.0-or-later
// Learns a key from its press, without a window. This needs polkit's action org.happe.governor1.configure, as `pkexec
// happectl keys set` does, so a person types the password only once.
#pragma once

#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QObject>
#include <QPointer>
#include <chrono>

namespace happe::ui {

class KeySearch final : public QObject {
    Q_OBJECT

public:
    static constexpr std::chrono::seconds kWait{30};

    KeySearch() = default;
    ~KeySearch() override;
    KeySearch(const KeySearch&) = delete;
    KeySearch& operator=(const KeySearch&) = delete;
    KeySearch(KeySearch&&) = delete;
    KeySearch& operator=(KeySearch&&) = delete;

    // Asks happed for the next key that somebody presses. happed waits for kWait, after the person has typed any
    // password.
    void learn();
    void cancel();

signals:
    void learned(const QString& key);
    void not_learned(const QString& why);

private:
    void answered(const QDBusMessage& answer);

    QPointer<QDBusPendingCallWatcher> question_;  // not null while happed waits for a key
};

}  // namespace happe::ui
