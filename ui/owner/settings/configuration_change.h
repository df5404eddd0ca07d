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

}  // namespace happe::ui
