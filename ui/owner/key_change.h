// SPDX-License-Identifier: GPL-2.0-or-later
// Learns a key from its press, and sets the two keys, without a window. Both need polkit's action
// org.happe.governor1.configure, so a person types the password only once.
#pragma once

#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QObject>
#include <QPointer>
#include <QProcess>
#include <chrono>

namespace happe::ui {

class KeyChange final : public QObject {
    Q_OBJECT

public:
    static constexpr std::chrono::seconds kWait{30};

    KeyChange();
    ~KeyChange() override;
    KeyChange(const KeyChange&) = delete;
    KeyChange& operator=(const KeyChange&) = delete;
    KeyChange(KeyChange&&) = delete;
    KeyChange& operator=(KeyChange&&) = delete;

    // Asks happed for the next key that somebody presses. happed waits for kWait, after the person has typed any
    // password.
    void learn();
    void cancel();

    // Has happectl write the keys, as root.
    void apply(const QString& performance, const QString& power);
    [[nodiscard]] bool applies() const { return program_.state() != QProcess::NotRunning; }

signals:
    void learned(const QString& key);
    void not_learned(const QString& why);
    void applied();
    void not_applied(const QString& why);

private:
    void answered(const QDBusMessage& answer);
    void ended(int status);
    [[nodiscard]] static QString in_terminal(const QString& why, const QString& command);
    [[nodiscard]] static QString no_password();

    QPointer<QDBusPendingCallWatcher> question_;  // not null while happed waits for a key
    QProcess program_;
    QString command_;  // the same command for a terminal
};

}  // namespace happe::ui
