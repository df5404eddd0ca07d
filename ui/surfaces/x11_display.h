// SPDX-License-Identifier: GPL-2.0-or-later
// A connection to an X server, with the overlay's questions to it.
#pragma once

#include "ui/surfaces/x11_connection.h"

#include <xcb/xcb.h>
#include <QPoint>
#include <QRect>
#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace happe::ui {

struct X11Screen {
    QString name;
    bool primary = false;
    QRect area;  // in pixels
};

class X11Display {
public:
    // Connects to the server that DISPLAY names. It must have Shape, XFixes and RandR 1.5, as all do since 2015.
    [[nodiscard]] static tl::expected<std::unique_ptr<X11Display>, std::string> open();

    [[nodiscard]] xcb_connection_t* get() const { return opened_.connection.get(); }
    [[nodiscard]] const xcb_screen_t& screen() const { return *screen_; }
    [[nodiscard]] xcb_window_t root() const { return screen_->root; }
    // A visual with an alpha channel.
    [[nodiscard]] xcb_visualid_t visual() const { return visual_; }
    // The owner of this selection draws translucent windows.
    [[nodiscard]] xcb_atom_t compositor_selection() const { return compositor_; }
    [[nodiscard]] bool has_compositor() const;
    // The desktop's scale from Xft.dpi; 1 if there is none.
    [[nodiscard]] double scale() const;
    [[nodiscard]] std::vector<X11Screen> screens() const;
    // The middle of the active window; none if there is no such window.
    [[nodiscard]] std::optional<QPoint> focus() const;
    [[nodiscard]] std::uint8_t fixes_event() const { return fixes_event_; }
    [[nodiscard]] std::uint8_t randr_event() const { return randr_event_; }
    [[nodiscard]] bool lost() const { return xcb_connection_has_error(get()) != 0; }

private:
    explicit X11Display(X11Connection opened);
    [[nodiscard]] bool start();

    X11Connection opened_;
    const xcb_screen_t* screen_ = nullptr;
    xcb_visualid_t visual_ = 0;
    xcb_atom_t compositor_ = XCB_ATOM_NONE;
    xcb_atom_t active_ = XCB_ATOM_NONE;
    std::uint8_t fixes_event_ = 0;
    std::uint8_t randr_event_ = 0;
};

// Xft.dpi in a RESOURCE_MANAGER, as a multiple of 96; 1 if it has none that makes sense.
[[nodiscard]] double scale_in_resources(const std::string& resources);

// The screen of this name; otherwise the one with the focus, the primary one, or the first. `screens` has at least one.
[[nodiscard]] const X11Screen& chosen_screen(const std::vector<X11Screen>& screens, const QString& name,
                                             std::optional<QPoint> focus);

}  // namespace happe::ui
