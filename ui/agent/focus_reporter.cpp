// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/focus_reporter.h"

#include "ui/bus/bus_objects.h"

#include <QDBusUnixFileDescriptor>
#include <utility>

namespace happe::ui {
namespace {

constexpr qsizetype kMostId = 85;  // UTF-16 units: at most 255 bytes, happed's limit

const QString kNotActive = QStringLiteral("org.happe.Governor1.Error.NotActive");

}  // namespace

FocusReporter::FocusReporter(QDBusConnection system_bus)
    : bus_(std::move(system_bus)), owner_(governor_object().service, bus_, QDBusServiceWatcher::WatchForRegistration) {
    connect(&owner_, &QDBusServiceWatcher::serviceRegistered, this, [this] { send(); });
}

void FocusReporter::tell(const std::optional<Focus>& focus, BootTime said) {
    std::optional<Front> front;
    if (auto process = focus ? open_process(focus->pid, said) : tl::unexpected<std::string>("none")) {
        front = {.process = *std::move(process), .id = focus->id.left(kMostId)};
    }
    const bool same = front && front_ && front->process.is(front_->process) && front->id == front_->id;
    front_ = std::move(front);
    if (!same || !told_) {
        send();
    }
}

void FocusReporter::tell_idle(bool idle) {
    idle_ = idle;
    send_idle();
}

void FocusReporter::send_idle() {
    if (idle_) {
        QDBusMessage message = to_governor(QStringLiteral("SetIdle"));
        message << *idle_;
        bus_.send(message);
    }
}

void FocusReporter::send() {
    told_ = false;
    send_idle();
    if (!front_) {
        clear();
        return;
    }
    QDBusMessage message = to_governor(QStringLiteral("SetFocus"));
    message << QVariant::fromValue(QDBusUnixFileDescriptor(front_->process.pidfd.get())) << front_->id;
    set_ = true;
    ask(bus_, message, this, [this, number = ++sent_](const QDBusMessage& answer) { answered(number, answer); });
}

void FocusReporter::clear() {
    ++sent_;
    await_turn(false);
    if (std::exchange(set_, false)) {
        bus_.send(to_governor(QStringLiteral("ClearFocus")));
    }
}

// A process that has ended or belongs to another user means that happed can serve no application. While somebody else
// uses the machine, waits for their turn to end.
void FocusReporter::answered(int number, const QDBusMessage& answer) {
    if (number != sent_) {
        return;
    }
    told_ = answer.type() == QDBusMessage::ReplyMessage;
    const bool not_active = answer.errorName() == kNotActive;
    if (not_active && !awaiting_) {
        await_turn(true);
        send();  // our turn may have come meanwhile
    } else if (!not_active) {
        await_turn(false);
        if (!told_) {
            clear();
        }
    }
}

// Listens to changes of happed's state, but only while they matter.
void FocusReporter::await_turn(bool wanted) {
    if (std::exchange(awaiting_, wanted) == wanted) {
        return;
    }
    const BusObject governor = governor_object();
    const QString properties = QStringLiteral("org.freedesktop.DBus.Properties");
    const QString changed = QStringLiteral("PropertiesChanged");
    const char* const slot = SLOT(on_changed(QString, QVariantMap, QStringList));
    if (wanted) {
        bus_.connect(governor.service, governor.path, properties, changed, this, slot);
    } else {
        bus_.disconnect(governor.service, governor.path, properties, changed, this, slot);
    }
}

void FocusReporter::on_changed(const QString& /*interface*/, const QVariantMap& changed,
                               const QStringList& invalidated) {
    if (changed.contains(QStringLiteral("State")) || invalidated.contains(QStringLiteral("User"))) {
        send();
    }
}

}  // namespace happe::ui
