// SPDX-License-Identifier: GPL-2.0-or-later
// org.happe.Focus1 on the session bus. A script or extension inside a compositor calls it to report the active window.
#pragma once

#include "ui/agent/focus.h"

#include <QDBusConnection>
#include <QDBusContext>
#include <QDBusServiceWatcher>
#include <QObject>
#include <QTimer>

namespace happe::ui {

class FocusObject final : public QObject, protected QDBusContext {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.happe.Focus1")

public:
    // `reporter`: the bus name of the compositor. Refuses calls from anybody else.
    FocusObject(QDBusConnection bus, const QString& reporter);
    ~FocusObject() override;

    // Takes the bus name. An error says who has it; empty: done.
    [[nodiscard]] std::string start();
    [[nodiscard]] const std::optional<ReportedWindow>& window() const { return window_; }

public slots:  // NOLINTBEGIN(readability-identifier-naming): their names on the bus
    // Numbers are text, because KWin's scripts have no integers. Pid 0: no window is active.
    void Focus(const QString& pid, const QString& id);
    // Reports an X11 client's window by its number; 0: none.
    void FocusX11(const QString& window, const QString& id);
    // Reports an X11 client's window without a number: the active window of the X server.
    void FocusActiveX11(const QString& id);
    // NOLINTEND(readability-identifier-naming)

signals:
    void changed();
    // The compositor has left the bus.
    void gone();

private:
    [[nodiscard]] bool from_reporter() const;
    [[nodiscard]] std::optional<int> number_from_reporter(const QString& name, const QString& text);

    QDBusConnection bus_;
    QString reporter_;
    QDBusServiceWatcher owner_;
    std::optional<ReportedWindow> window_;
    bool named_ = false;
};

}  // namespace happe::ui
