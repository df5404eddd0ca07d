// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/indicator/overlay.h"

#include "ui/bus/bus_objects.h"
#include "ui/overlay/overlay_words.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

// A compositor that starts or restarts answers within this time; a session that has ended does not.
constexpr std::chrono::milliseconds kBeforeReopen{500};
constexpr int kMostReopened = 40;

int milliseconds(Moment time) {
    return static_cast<int>(std::ceil(std::clamp(time.count(), 0.0, 3600.0) * 1000.0));
}

void start(QTimer& timer, const std::optional<Moment>& at, Moment now) {
    if (at) {
        timer.start(milliseconds(*at - now));
    } else {
        timer.stop();
    }
}

}  // namespace

Overlay::Overlay(const Buses& buses, OverlayState state, bool real, Theme theme, OpenSurface open)
    : state_(std::move(state)),
      theme_(theme),
      open_(std::move(open)),
      governor_(buses.system, governor_object(), QStringLiteral("KeyCounted")),
      desktop_(buses.session) {
    clock_.start();
    follow_governor();
    if (real) {
        follow_battery(buses.system);
    }
    for (QTimer* const timer : {&look_again_, &repaint_, &reopen_}) {
        timer->setSingleShot(true);
    }
    connect(&look_again_, &QTimer::timeout, this, [this] { governor_.refresh(); });
    connect(&repaint_, &QTimer::timeout, this, [this] { update(); });
    connect(&reopen_, &QTimer::timeout, this, [this] { open_again(); });
    connect(&desktop_, &ThemeWatch::changed, this, [this] { update(); });
}

void Overlay::follow_governor() {
    connect(&governor_, &PropertyWatch::there, this,
            [this](const QVariantMap& properties) { governor_is(governor_of(properties)); });
    connect(&governor_, &PropertyWatch::gone, this, [this] { governor_is(std::nullopt); });
    connect(&governor_, &PropertyWatch::signalled, this, [this](const QString& name) {
        if (const auto key = key_of(name)) {
            state_.key(*key);
            governor_.refresh();
            follow_focus();
        }
    });
}

void Overlay::follow_battery(const QDBusConnection& bus) {
    const auto take = [this](const std::optional<RealBattery>& battery) {
        state_.battery(battery, now());
        update();
    };
    battery_.emplace(bus, battery_object());
    connect(&*battery_, &PropertyWatch::there, this,
            [take](const QVariantMap& properties) { take(battery_of(properties)); });
    connect(&*battery_, &PropertyWatch::gone, this, [take] { take(std::nullopt); });
}

std::string Overlay::start() {
    const auto nothing = open_surface();
    if (nothing && nothing->soon) {
        reopen_.start(kBeforeReopen);
        return {};
    }
    update();
    return nothing ? nothing->why : std::string();
}

std::optional<NoSurface> Overlay::open_surface() {
    // surface_lost() destroys the surface, so it must run after this call has returned.
    const auto lost = [this] { QMetaObject::invokeMethod(this, [this] { surface_lost(); }, Qt::QueuedConnection); };
    auto opened = open_({.changed = [this] { update(); }, .lost = lost});
    if (!opened) {
        return std::move(opened).error();
    }
    surface_ = *std::move(opened);
    painted_.reset();
    return std::nullopt;
}

void Overlay::surface_lost() {
    surface_.reset();
    reopened_ = 0;
    reopen_.start(kBeforeReopen);
}

void Overlay::open_anew() {
    surface_.reset();
    reopened_ = 0;
    open_again();
}

void Overlay::open_again() {
    const auto nothing = open_surface();
    if (!nothing) {
        update();
    } else if (++reopened_ < kMostReopened) {
        reopen_.start(kBeforeReopen);
    } else {
        emit given_up(nothing->why);
    }
}

void Overlay::governor_is(std::optional<DaemonState> governor) {
    if (governor && governor->indicator && !governor->run.empty() && governor->target_khz.empty()) {
        kernel_.look(*governor);  // in a blind run happed hides its state from us
    }
    const std::string application = governor ? governor->application : std::string();
    const bool another = std::exchange(application_, application) != application;
    state_.governor(governor, now());
    ui::start(look_again_, state_.next_look(), now());
    update();
    if (another) {
        follow_focus();
    }
}

void Overlay::follow_focus() {
    if (surface_) {
        surface_->follow_focus();
    }
}

Look Overlay::look() const {
    const bool dark = theme_ == Theme::Dark || (theme_ == Theme::Auto && desktop_.style() != ThemeWatch::Style::Light);
    return {.scale = surface_->scale(), .dark = dark, .opaque = !surface_->translucent(), .icon = surface_->icon()};
}

void Overlay::update() {
    const std::optional<Shown> shown = state_.shown(now());
    ui::start(repaint_, state_.next_change(now()), now());
    if (!surface_ || (shown == painted_ && (!shown || look() == painted_look_))) {
        return;
    }
    painted_ = shown;
    if (!shown) {
        surface_->hide();
        return;
    }
    painted_look_ = look();
    surface_->show(paint(*shown, painted_look_),
                   OverlayWords::name(*shown) + QStringLiteral(". ") + OverlayWords::description(*shown));
}

}  // namespace happe::ui
