// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the application's widgets dark while GNOME's style is dark. Qt's own style would follow only the GTK theme,
// which may be light. Other styles follow GNOME by themselves.
#pragma once

#include "ui/bus/theme_watch.h"

namespace happe::ui {

class DarkStyle final : public QObject {
    Q_OBJECT

public:
    explicit DarkStyle(const QDBusConnection& session_bus);

private:
    void follow() const;

    ThemeWatch desktop_;
};

}  // namespace happe::ui
