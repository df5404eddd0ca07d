// SPDX-License-Identifier: GPL-2.0-or-later
// The place of the overlay's picture: above everything. Pointer and keyboard ignore it.
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
    QString screen;  // an output's name, as in xrandr or `swaymsg -t get_outputs`; empty: the focused window's output
};

// Between the picture and the edges of its screen, in 96ths of an inch.
inline constexpr int kMargin = 16;

class Surface {
public:
    // `changed`: scale or translucency has changed; paint the picture again. `lost`: the window system has gone, and
    // the surface shows nothing any more; destroy it, but not in this call.
    struct Events {
        std::function<void()> changed;
        std::function<void()> lost;
    };

    Surface() = default;
    Surface(const Surface&) = delete;
    Surface& operator=(const Surface&) = delete;
    virtual ~Surface() = default;

    // Pixels in 1/96 inch.
    [[nodiscard]] virtual double scale() const = 0;
    // True if the windows behind can shine through.
    [[nodiscard]] virtual bool translucent() const = 0;
    // True if the surface needs an icon instead of the whole picture.
    [[nodiscard]] virtual bool icon() const { return false; }
    // `name` is for programs that list windows: the picture's content in words.
    virtual void show(const QImage& picture, const QString& name) = 0;
    virtual void hide() = 0;
    // Call when the focus may be on another screen. Only surfaces that cannot notice this themselves need it.
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

// In the desktop's tray, by another program (happe-tray), so that this one need not load the libraries for icons.
[[nodiscard]] SurfaceOrError open_tray_surface(Surface::Events events);

// Replaces this process by happe-tray with the owner's window. Returns only on failure, with the reason.
[[nodiscard]] std::string become_window();

}  // namespace happe::ui
