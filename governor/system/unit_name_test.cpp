// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/unit_name.h"

#include <gtest/gtest.h>

namespace happe {
namespace {

TEST(ApplicationOfUnit, ReadsDesktopsNames) {
    EXPECT_EQ(application_of_unit("app-gnome-org.gnome.Evince-1234.scope"), (UnitName{"org.gnome.Evince", false}));
    EXPECT_EQ(application_of_unit("app-KDE-firefox@1a2b.service"), (UnitName{"firefox", false}));
    EXPECT_EQ(application_of_unit("app-Hyprland-firefox-3f2a9c1e.scope"), (UnitName{"firefox", false}));
    EXPECT_EQ(application_of_unit("app-firefox-4711.scope"), (UnitName{"firefox", false}));
    EXPECT_EQ(application_of_unit("app-flatpak-org.mozilla.firefox-12.scope"), (UnitName{"org.mozilla.firefox", true}));
    EXPECT_EQ(application_of_unit("app-org.kde.kate@8f2a.service"), (UnitName{"org.kde.kate", false}));
    EXPECT_EQ(application_of_unit("app-gnome-gnome\\x2dterminal-99.scope"), (UnitName{"gnome-terminal", false}));
    EXPECT_EQ(application_of_unit("snap.quake.quake-0f3c4e1a-0000-1111-2222-333344445555.scope"),
              (UnitName{"quake.quake", true}));
}

// Electron escapes no dash, so no word of these is a launcher.
TEST(ApplicationOfUnit, AnUnescapedDashBelongsToTheId) {
    EXPECT_EQ(application_of_unit("app-signal-desktop-4711.scope")->application, "signal-desktop");
    EXPECT_EQ(application_of_unit("app-github-desktop-plus-4711.scope")->application, "github-desktop-plus");
    EXPECT_EQ(application_of_unit("app-gnome-proton-mail-4711.scope")->application, "proton-mail");
    EXPECT_EQ(application_of_unit("app-signal-desktop@autostart.service")->application, "signal-desktop");
    EXPECT_EQ(application_of_unit("app-gnome-4711.scope")->application, "gnome");
}

TEST(ApplicationOfUnit, OtherUnitsNameNone) {
    for (const char* unit :
         {"", "init.scope", "session-2.scope", "vte-spawn-1.scope", "app-.scope", "app-x", "app-gnome--1.scope",
          "foot-12.scope", "app-foot-12.slice", "app--.scope", "snap..scope", "app-@.service", "dbus.service"}) {
        EXPECT_FALSE(application_of_unit(unit)) << unit;
    }
}

TEST(ApplicationOfUnit, ABrokenEscapeIsTakenAsItIs) {
    EXPECT_EQ(application_of_unit("app-a\\x2-1.scope")->application, "a\\x2");
    EXPECT_EQ(application_of_unit("app-a\\xzz-1.scope")->application, "a\\xzz");
}

}  // namespace
}  // namespace happe
