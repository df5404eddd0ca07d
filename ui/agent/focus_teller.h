// SPDX-License-Identifier: GPL-2.0-or-later
// Tells happed which process is in front (docs/dbus.md, SetFocus), and again when happed may have forgotten it.
#pragma once

#include "ui/agent/focus.h"
#include "ui/agent/front_process.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusServiceWatcher>
#include <QObject>

namespace happe::ui {

class FocusTeller final : public QObject {
    Q_OBJECT

public:
    explicit FocusTeller(QDBusConnection system_bus);

    // Tells happed which application is in front, if any, and since when. happed uses the newest report.
    void tell(const std::optional<Focus>& focus, BootTime said);

private slots:
    void on_changed(const QString& interface, const QVariantMap& changed, const QStringList& invalidated);

private:
    struct Front {
        Process process;
        QString id;
    };

    void send();
    void clear();
    void answered(int number, const QDBusMessage& answer);
    void await_turn(bool wanted);

    QDBusConnection bus_;
    QDBusServiceWatcher owner_;
    std::optional<Front> front_;
    int sent_ = 0;       // calls; answers to all but the last one come too late to matter
    bool told_ = false;  // happed has what is in front
    bool set_ = false;   // happed may have something from us
    bool awaiting_ = false;
};

}  // namespace happe::ui
