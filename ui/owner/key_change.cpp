// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/key_change.h"

#include "ui/bus/bus_objects.h"

#include <QDBusConnection>

namespace happe::ui {
namespace {

// happed stops waiting for a key when the connection that asked ends.
const QString kConnection = QStringLiteral("happe-keys");
constexpr std::chrono::milliseconds kPatience{180'000};  // somebody may have to give a password first

constexpr int kDismissed = 126;  // of pkexec: nobody gave the password
constexpr int kRefused = 127;    // or nobody could be asked

QStringList arguments(const QString& performance, const QString& power) {
    return {QStringLiteral("keys"),          QStringLiteral("set"),
            QStringLiteral("--performance"), performance,
            QStringLiteral("--power"),       power};
}

}  // namespace

QString KeyChange::in_terminal(const QString& why, const QString& command) {
    return why + QLatin1Char(' ') + tr("In a terminal:") + QLatin1Char('\n') + command;
}

QString KeyChange::no_password() {
    return tr("This needs an administrator's password, which nobody gave.");
}

KeyChange::KeyChange() {
    connect(&program_, &QProcess::finished, this, &KeyChange::ended);
    connect(&program_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) {
            emit not_applied(in_terminal(tr("The program pkexec, which asks for a password, is not there."), command_));
        }
    });
}

KeyChange::~KeyChange() {
    cancel();
}

void KeyChange::learn() {
    cancel();
    const QDBusConnection bus = QDBusConnection::connectToBus(QDBusConnection::SystemBus, kConnection);
    QDBusMessage question = to_governor(QStringLiteral("LearnKey"))
                            << static_cast<uint>(std::chrono::milliseconds(kWait).count());
    question.setInteractiveAuthorizationAllowed(true);
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): it belongs to this object
    question_ = new QDBusPendingCallWatcher(bus.asyncCall(question, static_cast<int>(kPatience.count())), this);
    connect(question_, &QDBusPendingCallWatcher::finished, this, [this] { answered(question_->reply()); });
}

void KeyChange::cancel() {
    delete question_;  // NOLINT(cppcoreguidelines-owning-memory): so that it does not tell of the end of the connection
    QDBusConnection::disconnectFromBus(kConnection);
}

void KeyChange::answered(const QDBusMessage& answer) {
    question_->deleteLater();
    question_.clear();
    const QString error = answer.errorName().section(QLatin1Char('.'), -1);
    if (answer.type() == QDBusMessage::ReplyMessage) {
        emit learned(answer.arguments().value(0).toString());
    } else if (error == QLatin1String("NotFound")) {
        emit not_learned(tr("Nobody pressed a key that types no text within half a minute."));
    } else if (error == QLatin1String("AccessDenied") || error == QLatin1String("InteractiveAuthorizationRequired")) {
        emit not_learned(in_terminal(no_password(), QStringLiteral("sudo happectl keys set --press")));
    } else {
        emit not_learned(tr("Refused: %1").arg(answer.errorMessage()));
    }
}

void KeyChange::apply(const QString& performance, const QString& power) {
    command_ = QStringLiteral("sudo happectl ") + arguments(performance, power).join(QLatin1Char(' '));
    const QStringList pkexec{QStringLiteral("--disable-internal-agent"), QStringLiteral(HAPPE_HAPPECTL)};
    program_.start(QStringLiteral("pkexec"), pkexec + arguments(performance, power));
    program_.closeWriteChannel();
}

void KeyChange::ended(int status) {
    const QString said = QString::fromUtf8(program_.readAllStandardError()).trimmed();
    if (program_.exitStatus() == QProcess::NormalExit && (status == kDismissed || status == kRefused)) {
        emit not_applied(in_terminal(no_password(), command_));
    } else if (program_.exitStatus() != QProcess::NormalExit || status != 0 || !said.isEmpty()) {
        emit not_applied(tr("HAPPE says: %1").arg(said));
    } else {
        emit applied();
    }
}

}  // namespace happe::ui
