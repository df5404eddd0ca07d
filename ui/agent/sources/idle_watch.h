// SPDX-License-Identifier: GPL-2.0-or-later
// Learns from the desktop that nobody uses keyboard and pointer: from Mutter, or from a Wayland compositor with
// ext-idle-notify.
#pragma once

#include <QDBusConnection>
#include <QObject>
#include <chrono>
#include <functional>
#include <memory>

namespace happe::ui {

class IdleWatch final : public QObject {
    Q_OBJECT

public:
    static constexpr std::chrono::milliseconds kDelay = std::chrono::minutes(1);  // docs/dbus.md, SetIdle

    explicit IdleWatch(QDBusConnection session_bus);
    ~IdleWatch() override;

    // Call at the start, and when the desktop may have changed. Without a source it reports nothing.
    void open();

signals:
    // True after kDelay without input; false once there is input again, and when it begins to watch.
    void changed(bool idle);

private slots:
    void on_fired(uint watch);

private:
    class Notifier;

    void ask_mutter(const QString& method, const QVariantList& arguments, const std::function<void(uint)>& answered);
    void open_notifier();

    QDBusConnection bus_;
    uint idle_watch_ = 0;  // Mutter's numbers; 0: none
    uint active_watch_ = 0;
    std::unique_ptr<Notifier> notifier_;
};

}  // namespace happe::ui
