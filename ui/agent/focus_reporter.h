// SPDX-License-Identifier: GPL-2.0-or-later
// Reports the process in front to happed (docs/dbus.md, SetFocus), and again when happed may have forgotten it.
#pragma once

#include "ui/agent/focus.h"
#include "ui/agent/front_process.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusServiceWatcher>
#include <QObject>

namespace happe::ui {

class FocusReporter final : public QObject {
    Q_OBJECT

public:
    explicit FocusReporter(QDBusConnection system_bus);

    // Reports the application in front, if any, as seen at this time. happed uses the newest report.
    void tell(const std::optional<Focus>& focus, BootTime said);
    // Reports whether nobody uses keyboard and pointer.
    void tell_idle(bool idle);

private slots:
    void on_changed(const QString& interface, const QVariantMap& changed, const QStringList& invalidated);

private:
    struct Front {
        Process process;
        QString id;
    };

    void send();
    void send_idle();
    void clear();
    void answered(int number, const QDBusMessage& answer);
    void await_turn(bool wanted);

    QDBusConnection bus_;
    QDBusServiceWatcher owner_;
    std::optional<Front> front_;
    std::optional<bool> idle_;
    int sent_ = 0;       // number of calls; only the answer to the last one counts
    bool told_ = false;  // happed knows the application in front
    bool set_ = false;   // happed may have a report from us
    bool awaiting_ = false;
};

}  // namespace happe::ui
