// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/indicator/surface_choice.h"

#include <QtGlobal>
#include <utility>

namespace happe::ui {
namespace {

bool has(const char* variable) {
    return !qEnvironmentVariableIsEmpty(variable);
}

// In a Wayland session: opens the best surface that the compositor offers.
class BestSurface {
public:
    BestSurface(Position position, QDBusConnection session_bus, std::function<void(const std::string&)> tell)
        : position_(std::move(position)), session_bus_(std::move(session_bus)), tell_(std::move(tell)) {}

    [[nodiscard]] SurfaceOrError open(const Surface::Events& events) {
        auto layer = open_wayland_surface(position_, events);
        // A compositor that had layers but does not answer is restarting.
        has_layers_ = has_layers_ || layer;
        return has_layers_ || layer.error().soon ? std::move(layer) : open_without_layers(layer.error().why, events);
    }

private:
    [[nodiscard]] SurfaceOrError open_without_layers(std::string why, const Surface::Events& events) const {
        if (auto extension = open_extension_surface(position_, session_bus_, events)) {
            tell_("GNOME's extension HAPPE shows the overlay");
            return extension;
        } else {
            why += "; " + extension.error().why;
        }
        if (auto window = has("DISPLAY") ? open_x11_surface(position_, events) : tl::unexpected(NoSurface{})) {
            tell_(why + "; a window of XWayland shows it");
            return window;
        }
        auto tray = open_tray_surface(events);
        if (!tray) {
            return tl::unexpected(NoSurface{.why = why + "; and no tray icon takes its place: " + tray.error().why});
        }
        tell_(why + "; a tray icon takes its place");
        return tray;
    }

    Position position_;
    QDBusConnection session_bus_;
    std::function<void(const std::string&)> tell_;
    bool has_layers_ = false;
};

}  // namespace

OpenSurface surface_for(const Options& options, const QDBusConnection& session_bus,
                        std::function<void(const std::string&)> tell) {
    const Position position{.corner = options.corner, .screen = QString::fromStdString(options.screen)};
    const Where found = has("WAYLAND_DISPLAY") ? Where::Auto : Where::X11;
    switch (options.where == Where::Auto ? found : options.where) {
        case Where::Tray:
            return open_tray_surface;
        case Where::X11:
            return [position](const Surface::Events& events) { return open_x11_surface(position, events); };
        case Where::Wayland:
            return [position](const Surface::Events& events) { return open_wayland_surface(position, events); };
        case Where::Auto:
            break;
    }
    return [best = BestSurface(position, session_bus, std::move(tell))](const Surface::Events& events) mutable {
        return best.open(events);
    };
}

}  // namespace happe::ui
