// SPDX-License-Identifier: GPL-2.0-or-later
// Learns a key from its press, and changes this machine's keys, without a window. Both need polkit's action
// org.happe.governor1.configure, so a person types the password only once.
#pragma once

#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QObject>
#include <QPointer>
#include <QProcess>
#include <QStringList>
#include <chrono>

namespace happe::ui {

// Runs happectl as root by pkexec, for which polkit asks for an administrator's password.
class ConfigurationChange final : public QObject {
    Q_OBJECT

public:
    ConfigurationChange();
    // Nobody asks for a password any more. A change for which somebody gave it is made.
    ~ConfigurationChange() override;
    ConfigurationChange(const ConfigurationChange&) = delete;
    ConfigurationChange& operator=(const ConfigurationChange&) = delete;
    ConfigurationChange(ConfigurationChange&&) = delete;
    ConfigurationChange& operator=(ConfigurationChange&&) = delete;

    // Runs happectl with these words, such as "keys", "set", "--power", "KEY_F9".
    void apply(const QStringList& words);
    [[nodiscard]] bool applies() const { return program_.state() != QProcess::NotRunning; }

    // For messages: why something failed, and happectl's words that do it in a terminal.
    [[nodiscard]] static QString in_terminal(const QString& why, const QStringList& words);
    [[nodiscard]] static QString no_password();

signals:
    void applied();
    void not_applied(const QString& why);

private:
    void ended(int status);

    QProcess program_;
    QStringList words_;
};

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
