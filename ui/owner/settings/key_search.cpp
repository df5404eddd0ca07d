// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/settings/key_search.h"

#include "ui/bus/bus_objects.h"
#include "ui/owner/settings/configuration_change.h"

#include <QDBusConnection>

namespace happe::ui {
namespace {

// happed stops waiting for a key when the connection that asked ends.
const QString kConnection = QStringLiteral("happe-keys");
constexpr std::chrono::milliseconds kPatience{180'000};  // a person may have to type a password first

}  // namespace

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
