// SPDX-License-Identifier: GPL-2.0-or-later
// What an X server does for the wizard and Qt does not: the experimenter's keys, Ctrl+Alt+Shift+Q, whatever has the
// keyboard; and a window that comes to the front whatever the window manager thinks of windows that come unasked.
#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <memory>
#include <optional>

struct xcb_connection_t;

namespace happe::study {

class XDesk final : public QObject {
    Q_OBJECT

public:
    // Without an X server it does nothing: then the wizard's own window knows the keys, and `happe-study abort` is
    // there.
    XDesk();

    // A window of this program.
    void bring_forward(quintptr window) const;

signals:
    void pressed();

private:
    void read();

    std::unique_ptr<xcb_connection_t, void (*)(xcb_connection_t*)> connection_;
    std::optional<QSocketNotifier> readable_;
    quint32 active_window_ = 0;  // an atom
};

}  // namespace happe::study
