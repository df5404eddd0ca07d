// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the process of an X11 window. Trusts the X server (its extension XRes), not the client's own _NET_WM_PID, which
// may be wrong, or belong to another PID namespace.
#pragma once

#include "ui/agent/focus.h"
#include "ui/surfaces/x11_connection.h"

#include <sys/types.h>
#include <xcb/xcb.h>
#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace happe::ui {

class X11Clients {
public:
    // Connects to the server that DISPLAY names. It must have XRes 1.2, as all do since 2012.
    [[nodiscard]] static tl::expected<X11Clients, std::string> open();

    [[nodiscard]] xcb_connection_t* get() const { return connection_.get(); }
    [[nodiscard]] xcb_window_t root() const { return root_; }
    [[nodiscard]] bool lost() const { return xcb_connection_has_error(get()) != 0; }
    [[nodiscard]] bool viewable(xcb_window_t window) const;
    // The process of a window; none if there is no such window, or its client is on another machine.
    [[nodiscard]] std::optional<pid_t> pid(xcb_window_t window) const;
    // The class in its WM_CLASS.
    [[nodiscard]] QString name(xcb_window_t window) const;

private:
    X11Clients() = default;

    std::unique_ptr<xcb_connection_t, DisconnectXcb> connection_;
    xcb_window_t root_ = XCB_WINDOW_NONE;
};

// The focus on an X11 client, with the process that the X server knows instead of the one that the client claims. None
// if the X server does not know it.
[[nodiscard]] std::optional<Focus> checked(const ReportedWindow& told);

// The class in a WM_CLASS: the second of two strings that end with NUL; empty if it has none.
[[nodiscard]] QString class_in(std::string_view wm_class);

}  // namespace happe::ui
