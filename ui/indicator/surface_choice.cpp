// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/indicator/surface_choice.h"

#include <QtGlobal>
#include <utility>

namespace happe::ui {
namespace {

bool has(const char* variable) {
    return !qEnvironmentVariableIsEmpty(variable);
}

SurfaceOrError open_tray_instead(const std::string& why, Surface::Events events,
                                 const std::function<void(const std::string&)>& tell) {
    const std::string else_x11 = has("DISPLAY") ? "; --where x11 shows it through XWayland" : "";
    auto tray = open_tray_surface(std::move(events));
    if (!tray) {
        return tl::unexpected(why + else_x11 + "; and no tray icon takes its place: " + tray.error());
    }
    tell(why + "; a tray icon takes its place" + else_x11);
    return tray;
}

}  // namespace

OpenSurface surface_for(const Options& options, std::function<void(const std::string&)> tell) {
    const Position position{.corner = options.corner, .screen = QString::fromStdString(options.screen)};
    const Where found = has("WAYLAND_DISPLAY") ? Where::Wayland : Where::X11;
    const Where where = options.where == Where::Auto ? found : options.where;
    // Only at the start: later a compositor that does not answer is one that restarts.
    bool may_fall_back = options.where == Where::Auto && where == Where::Wayland;
    return [=, tell = std::move(tell)](const Surface::Events& events) mutable -> SurfaceOrError {
        if (where == Where::Tray) {
            return open_tray_surface(events);
        }
        if (where == Where::X11) {
            return open_x11_surface(position, events);
        }
        auto surface = open_wayland_surface(position, events);
        const bool fall_back = std::exchange(may_fall_back, false) && !surface;
        return fall_back ? open_tray_instead(surface.error(), events, tell) : std::move(surface);
    };
}

}  // namespace happe::ui
