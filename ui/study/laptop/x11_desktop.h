// SPDX-License-Identifier: GPL-2.0-or-later
// Uses the X server for two tasks that Qt cannot do: to hear the experimenter's keys, Ctrl+Alt+Shift+Q, in any window;
// and to bring a window to the front even if the window manager would refuse.
#pragma once

#include "ui/surfaces/x11_connection.h"

#include <QObject>
#include <QSocketNotifier>
#include <memory>
#include <optional>

namespace happe::study {

class X11Desktop final : public QObject {
    Q_OBJECT

public:
    // Without an X server it does nothing: then the keys work in the wizard's own window, and `happe-study abort`
    // works.
    X11Desktop();

    // Brings a window of this program to the front.
    void bring_forward(quintptr window) const;

signals:
    void pressed();

private:
    void read();

    std::unique_ptr<xcb_connection_t, ui::DisconnectXcb> connection_;
    std::optional<QSocketNotifier> readable_;
    quint32 active_window_ = 0;  // an atom
};

}  // namespace happe::study
