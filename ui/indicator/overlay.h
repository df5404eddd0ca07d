// SPDX-License-Identifier: GPL-2.0-or-later
// The whole overlay: connects its inputs, state, picture and surface.
#pragma once

#include "ui/bus/desktop_watch.h"
#include "ui/bus/property_watch.h"
#include "ui/overlay/kernel_view.h"
#include "ui/overlay/overlay_painter.h"
#include "ui/overlay/overlay_state.h"
#include "ui/surfaces/surface.h"

#include <QDBusConnection>
#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace happe::ui {

enum class Theme { Auto, Dark, Light };

// Opens a surface. The overlay calls it again after it has lost a surface.
using OpenSurface = std::function<SurfaceOrError(Surface::Events)>;

class Overlay final : public QObject {
    Q_OBJECT

public:
    struct Buses {
        QDBusConnection system;   // for happed and UPower
        QDBusConnection session;  // for the desktop's settings
    };

    // `real`: follow the real battery by UPower.
    Overlay(const Buses& buses, OverlayState state, bool real, Theme theme, OpenSurface open);

    // An error says why there is no surface, and will be none soon.
    [[nodiscard]] std::string start();
    // Call when a better surface may have appeared.
    void open_anew();

signals:
    // The overlay has given up opening a surface, for this reason.
    void given_up(const std::string& why);

private:
    [[nodiscard]] Moment now() const { return std::chrono::milliseconds(clock_.elapsed()); }
    [[nodiscard]] Look look() const;
    void follow_governor();
    void follow_battery(const QDBusConnection& bus);
    // An error says why there is no surface.
    [[nodiscard]] std::optional<NoSurface> open_surface();
    void surface_lost();
    void open_again();
    void governor_is(std::optional<DaemonState> governor);
    void follow_focus();
    void update();

    OverlayState state_;
    std::string application_;
    Theme theme_;
    OpenSurface open_;
    QElapsedTimer clock_;
    PropertyWatch governor_;
    KernelView kernel_;
    std::optional<PropertyWatch> battery_;
    ThemeWatch desktop_;
    QTimer look_again_;  // when to ask happed again
    QTimer repaint_;
    QTimer reopen_;
    int reopened_ = 0;
    std::unique_ptr<Surface> surface_;
    std::optional<Shown> painted_;
    Look painted_look_;
};

}  // namespace happe::ui
