// SPDX-License-Identifier: GPL-2.0-or-later
// Sources that report the application in front: docs/session-agent.md. Each error says what is missing.
#pragma once

#include "ui/agent/focus.h"
#include "ui/bus/desktop_watch.h"

#include <QDBusConnection>
#include <QDBusServiceWatcher>
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <optional>
#include <string_view>

namespace happe::ui {

// The window manager, on the X server that DISPLAY names.
[[nodiscard]] SourceOrError open_x11_focus(FocusSource::Events events);

// The focus on an X11 client, with the process that the X server knows instead of the one that the client claims. None
// if the X server does not know it.
[[nodiscard]] std::optional<Focus> checked(const ReportedWindow& told);

// The class in a WM_CLASS: the second of two strings that end with NUL; empty if it has none.
[[nodiscard]] QString class_in(std::string_view wm_class);

// A compositor with wlr-foreign-toplevel-management (sway, Hyprland and others), which WAYLAND_DISPLAY names. It does
// not know the processes.
[[nodiscard]] SourceOrError open_toplevel_focus(FocusSource::Events events);

// KWin, by a script that we load into it.
[[nodiscard]] SourceOrError open_kwin_focus(const QDBusConnection& session_bus, FocusSource::Events events);

// GNOME, by the extension HAPPE (ui/gnome-shell).
[[nodiscard]] SourceOrError open_gnome_focus(const QDBusConnection& session_bus, FocusSource::Events events);

// Opens this source; with Auto, the best that the session has, if it is better than `better_than`. An error lists what
// each possible source lacks.
[[nodiscard]] SourceOrError open_focus_source(FocusBy by, FocusBy better_than, const QDBusConnection& session_bus,
                                              const FocusSource::Events& events);

// Notices without polling that a source of the focus may have appeared.
class SourceWatch final : public QObject {
    Q_OBJECT

public:
    explicit SourceWatch(const QDBusConnection& session_bus);

signals:
    // A compositor or shell has appeared on the bus, GNOME has switched the extension on, another agent has stopped
    // listening, or a socket has appeared or gone.
    void changed();

private:
    QDBusServiceWatcher names_;
    ExtensionWatch extension_;
    QFileSystemWatcher folders_;
};

}  // namespace happe::ui
