// SPDX-License-Identifier: GPL-2.0-or-later
// How the desktop calls an application, and what it looks like there: its .desktop file (Desktop Entry Specification).
#pragma once

#include <QString>
#include <optional>

namespace happe::ui {

struct DesktopEntry {
    QString name;  // in the user's language
    QString icon;  // in the theme, or a file; may be empty

    bool operator==(const DesktopEntry&) const = default;
};

// Of an application as happed names it ("org.gnome.Maps", "torcs/mains"); none if no file of that name has a name in
// it.
[[nodiscard]] std::optional<DesktopEntry> desktop_entry(const QString& application);

}  // namespace happe::ui
