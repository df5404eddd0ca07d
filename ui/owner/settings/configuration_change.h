// SPDX-License-Identifier: GPL-2.0-or-later
// Changes this machine's configuration: runs happectl as root by pkexec, for which polkit asks for an administrator's
// password.
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>

namespace happe::ui {

class ConfigurationChange final : public QObject {
    Q_OBJECT

public:
    ConfigurationChange();

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

}  // namespace happe::ui
