// SPDX-License-Identifier: GPL-2.0-or-later
// Where the overlay's picture is put: above everything, and not there for pointer and keyboard.
#pragma once

#include <QDBusConnection>
#include <QImage>
#include <QString>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

namespace happe::ui {

enum class Corner { BottomLeft, BottomRight, TopLeft, TopRight };

[[nodiscard]] constexpr bool at_left(Corner corner) {
    return corner == Corner::BottomLeft || corner == Corner::TopLeft;
}
[[nodiscard]] constexpr bool at_top(Corner corner) {
    return corner == Corner::TopLeft || corner == Corner::TopRight;
}

struct Position {
    Corner corner = Corner::BottomLeft;
    QString screen;  // an output's name, as in xrandr or `swaymsg -t get_outputs`; empty: that of the focused window
};

// Between the picture and the edges of its screen, in 96ths of an inch.
inline constexpr int kMargin = 16;

class Surface {
public:
    // `changed`: scale or translucency have, paint the picture again. `lost`: the window system is gone, and nothing is
    // shown any more; destroy the surface, but not in this call.
    struct Events {
        std::function<void()> changed;
        std::function<void()> lost;
    };

    Surface() = default;
    Surface(const Surface&) = delete;
    Surface& operator=(const Surface&) = delete;
    virtual ~Surface() = default;

    // Pixels for each of 96 in an inch.
    [[nodiscard]] virtual double scale() const = 0;
    // Whether the windows behind can shine through.
    [[nodiscard]] virtual bool translucent() const = 0;
    // Whether an icon is wanted in place of the whole picture.
    [[nodiscard]] virtual bool icon() const { return false; }
    // `name` is for programs that list windows: it says in words what the picture shows.
    virtual void show(const QImage& picture, const QString& name) = 0;
    virtual void hide() = 0;
    // The focus may be on another screen now. Only for surfaces that cannot see it themselves.
    virtual void follow_focus() {}
};

// Why there is no surface.
struct NoSurface {
    std::string why;
    bool soon = false;  // there may be one soon: the window system has just started, or is busy
};

using SurfaceOrError = tl::expected<std::unique_ptr<Surface>, NoSurface>;

// On the X server that DISPLAY names.
[[nodiscard]] SurfaceOrError open_x11_surface(const Position& position, Surface::Events events);
// On the compositor that WAYLAND_DISPLAY names, if it has wlr-layer-shell.
[[nodiscard]] SurfaceOrError open_wayland_surface(const Position& position, Surface::Events events);

// In GNOME Shell, if it runs HAPPE's extension. Waits for at most a second.
[[nodiscard]] SurfaceOrError open_extension_surface(const Position& position, const QDBusConnection& session_bus,
                                                    Surface::Events events);

// In the desktop's tray, by another program (ui/tray), so that this one need not load what icons need.
[[nodiscard]] SurfaceOrError open_tray_surface(Surface::Events events);

}  // namespace happe::ui
