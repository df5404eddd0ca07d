// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/sources.h"

#include <QDBusConnectionInterface>
#include <QStandardPaths>
#include <vector>

namespace happe::ui {
namespace {

bool has(const char* variable) {
    return !qEnvironmentVariableIsEmpty(variable);
}

SourceOrError open_one(FocusBy by, const QDBusConnection& bus, const FocusSource::Events& events) {
    switch (by) {
        case FocusBy::KWin:
            return open_kwin_focus(bus, events);
        case FocusBy::Gnome:
            return open_gnome_focus(bus, events);
        case FocusBy::Toplevel:
            return open_toplevel_focus(events);
        case FocusBy::X11:
            return open_x11_focus(events);
        case FocusBy::Auto:
            break;
    }
    return tl::unexpected<std::string>("no window system: neither WAYLAND_DISPLAY nor DISPLAY is set");
}

// The sources that may exist, the best first. In a Wayland session, X11 knows only programs that use XWayland.
std::vector<FocusBy> candidates(const QDBusConnection& session_bus) {
    const auto on_bus = [&](const char* name) {
        return session_bus.isConnected() && session_bus.interface()->isServiceRegistered(QLatin1String(name)).value();
    };
    std::vector<FocusBy> all;
    if (has("WAYLAND_DISPLAY")) {
        if (on_bus("org.kde.KWin")) {
            all.push_back(FocusBy::KWin);
        }
        if (on_bus("org.gnome.Shell")) {
            all.push_back(FocusBy::Gnome);
        }
        all.push_back(FocusBy::Toplevel);
    }
    if (has("DISPLAY")) {
        all.push_back(FocusBy::X11);
    }
    return all;
}

}  // namespace

SourceOrError open_focus_source(FocusBy by, FocusBy better_than, const QDBusConnection& session_bus,
                                const FocusSource::Events& events) {
    std::vector<FocusBy> tried = by == FocusBy::Auto ? candidates(session_bus) : std::vector{by};
    if (better_than != FocusBy::Auto) {
        std::erase_if(tried, [&](FocusBy candidate) { return candidate >= better_than; });
        if (tried.empty()) {
            return tl::unexpected<std::string>("there is no better source");
        }
    }
    std::string why;
    for (const FocusBy candidate : tried) {
        auto source = open_one(candidate, session_bus, events);
        if (source) {
            return source;
        }
        why += (why.empty() ? "" : "; ") + source.error();
    }
    return why.empty() ? open_one(FocusBy::Auto, session_bus, events) : tl::unexpected(why);
}

SourceWatch::SourceWatch(const QDBusConnection& session_bus) : extension_(session_bus) {
    names_.setConnection(session_bus);
    names_.setWatchedServices(
        {QStringLiteral("org.kde.KWin"), QStringLiteral("org.gnome.Shell"), QStringLiteral("org.happe.Focus1")});
    const QString mine = session_bus.baseService();
    connect(&names_, &QDBusServiceWatcher::serviceOwnerChanged, this,
            [this, mine](const QString& /*name*/, const QString& before, const QString& now) {
                if (before != mine && now != mine) {
                    emit changed();
                }
            });
    connect(&extension_, &ExtensionWatch::changed, this, &SourceWatch::changed);

    const QString runtime = QStandardPaths::writableLocation(QStandardPaths::RuntimeLocation);
    folders_.addPaths({runtime, QStringLiteral("/tmp/.X11-unix")});
    connect(&folders_, &QFileSystemWatcher::directoryChanged, this, &SourceWatch::changed);
}

}  // namespace happe::ui
