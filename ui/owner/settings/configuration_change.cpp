// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/settings/configuration_change.h"

namespace happe::ui {
namespace {

constexpr int kDismissed = 126;  // pkexec's status: nobody gave the password
constexpr int kRefused = 127;    // or it could ask nobody

}  // namespace

QString ConfigurationChange::in_terminal(const QString& why, const QStringList& words) {
    return why + QLatin1Char(' ') + QStringLiteral("In a terminal:") + QStringLiteral("\nsudo happectl ") +
           words.join(QLatin1Char(' '));
}

QString ConfigurationChange::no_password() {
    return QStringLiteral("This needs an administrator's password, which nobody gave.");
}

ConfigurationChange::ConfigurationChange() {
    connect(&program_, &QProcess::finished, this, &ConfigurationChange::ended);
    connect(&program_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) {
            emit not_applied(
                in_terminal(QStringLiteral("The program pkexec, which asks for a password, is not there."), words_));
        }
    });
}

// QProcess itself would first write a warning, and without happe-indicator nobody reads it: SIGPIPE.
ConfigurationChange::~ConfigurationChange() {
    program_.disconnect();
    program_.kill();
    program_.waitForFinished();
}

void ConfigurationChange::apply(const QStringList& words) {
    words_ = words;
    const QStringList pkexec{QStringLiteral("--disable-internal-agent"), QStringLiteral(HAPPE_HAPPECTL)};
    program_.start(QStringLiteral("pkexec"), pkexec + words);
    program_.closeWriteChannel();
}

void ConfigurationChange::ended(int status) {
    const QString said = QString::fromUtf8(program_.readAllStandardError()).trimmed();
    if (program_.exitStatus() == QProcess::NormalExit && (status == kDismissed || status == kRefused)) {
        emit not_applied(in_terminal(no_password(), words_));
    } else if (program_.exitStatus() != QProcess::NormalExit || status != 0 || !said.isEmpty()) {
        emit not_applied(QStringLiteral("HAPPE says: %1").arg(said));
    } else {
        emit applied();
    }
}

}  // namespace happe::ui
