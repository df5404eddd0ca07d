// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/key_change.h"

#include "ui/bus/bus_objects.h"

#include <QDBusConnection>

namespace happe::ui {
namespace {

constexpr int kDismissed = 126;  // pkexec's status: nobody gave the password
constexpr int kRefused = 127;    // or it could ask nobody

// happed stops waiting for a key when the connection that asked ends.
const QString kConnection = QStringLiteral("happe-keys");
constexpr std::chrono::milliseconds kPatience{180'000};  // a person may have to type a password first

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

KeySearch::~KeySearch() {
    cancel();
}

void KeySearch::learn() {
    cancel();
    const QDBusConnection bus = QDBusConnection::connectToBus(QDBusConnection::SystemBus, kConnection);
    QDBusMessage question = to_governor(QStringLiteral("LearnKey"))
                            << static_cast<uint>(std::chrono::milliseconds(kWait).count());
    question.setInteractiveAuthorizationAllowed(true);
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): it belongs to this object
    question_ = new QDBusPendingCallWatcher(bus.asyncCall(question, static_cast<int>(kPatience.count())), this);
    connect(question_, &QDBusPendingCallWatcher::finished, this, [this] { answered(question_->reply()); });
}

void KeySearch::cancel() {
    delete question_;  // NOLINT(cppcoreguidelines-owning-memory): so that it does not tell of the end of the connection
    QDBusConnection::disconnectFromBus(kConnection);
}

void KeySearch::answered(const QDBusMessage& answer) {
    question_->deleteLater();
    question_.clear();
    const QString error = answer.errorName().section(QLatin1Char('.'), -1);
    if (answer.type() == QDBusMessage::ReplyMessage) {
        emit learned(answer.arguments().value(0).toString());
    } else if (error == QLatin1String("NotFound")) {
        emit not_learned(QStringLiteral("Nobody pressed a key that types no text within half a minute."));
    } else if (error == QLatin1String("AccessDenied") || error == QLatin1String("InteractiveAuthorizationRequired")) {
        emit not_learned(ConfigurationChange::in_terminal(
            ConfigurationChange::no_password(),
            {QStringLiteral("keys"), QStringLiteral("set"), QStringLiteral("--press")}));
    } else {
        emit not_learned(QStringLiteral("Refused: %1").arg(answer.errorMessage()));
    }
}

}  // namespace happe::ui
