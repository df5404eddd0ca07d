// SPDX-License-Identifier: GPL-2.0-or-later
// org.happe.Focus1 on the session bus: what runs inside a compositor tells here which window is active.
#pragma once

#include "ui/agent/focus.h"

#include <QDBusConnection>
#include <QDBusContext>
#include <QDBusServiceWatcher>
#include <QObject>
#include <QTimer>

namespace happe::ui {

class ToldFocus final : public QObject, protected QDBusContext {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.happe.Focus1")

public:
    // `teller`: the name of the compositor, the only one that is believed.
    ToldFocus(QDBusConnection bus, const QString& teller);
    ~ToldFocus() override;

    // Takes the name; an error says who has it.
    [[nodiscard]] std::string start();
    [[nodiscard]] const std::optional<ToldWindow>& window() const { return window_; }

public slots:  // NOLINTBEGIN(readability-identifier-naming): their names on the bus
    // Numbers come as text: KWin's scripts have no integers. Pid 0: no window is active.
    void Focus(const QString& pid, const QString& id);
    // An X11 client's window by its number, 0 for none.
    void FocusX11(const QString& window, const QString& id);
    // An X11 client's window without a number: the one that the X server has as the active one.
    void FocusActiveX11(const QString& id);
    // NOLINTEND(readability-identifier-naming)

signals:
    void changed();
    // The compositor has left the bus.
    void gone();

private:
    [[nodiscard]] bool from_teller() const;
    [[nodiscard]] std::optional<int> number_from_teller(const QString& name, const QString& text);

    QDBusConnection bus_;
    QString teller_;
    QDBusServiceWatcher owner_;
    std::optional<ToldWindow> window_;
    bool named_ = false;
};

}  // namespace happe::ui
