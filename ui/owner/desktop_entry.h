// SPDX-License-Identifier: GPL-2.0-or-later
// An application's name and icon on the desktop: its .desktop file (Desktop Entry Specification).
#pragma once

#include <QString>
#include <optional>

namespace happe::ui {

struct DesktopEntry {
    QString name;  // in the user's language
    QString icon;  // a name in the theme, or a file; may be empty

    bool operator==(const DesktopEntry&) const = default;
};

// The entry of an application by happed's name for it ("org.gnome.Maps", "torcs/mains"). None if no file of that name
// contains a name.
[[nodiscard]] std::optional<DesktopEntry> desktop_entry(const QString& application);

}  // namespace happe::ui
