// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/surfaces/x11_display.h"

#include <gtest/gtest.h>

namespace happe::ui {
namespace {

TEST(ScaleInResources, IsXftsDpiByNinetySix) {
    EXPECT_DOUBLE_EQ(scale_in_resources("Xft.dpi:\t144\n"), 1.5);
    EXPECT_DOUBLE_EQ(scale_in_resources("Xcursor.size: 24\nXft.dpi: 192"), 2.0);
}

TEST(ScaleInResources, IsOneWhereThereIsNoneThatMakesSense) {
    for (const char* const resources : {"", "Xcursor.size: 24", "notXft.dpi: 192", "Xft.dpi:", "Xft.dpi: many",
                                        "Xft.dpi: 0", "Xft.dpi: -96", "Xft.dpi: 1e9", "Xft.dpi: nan"}) {
        EXPECT_DOUBLE_EQ(scale_in_resources(resources), 1.0) << resources;
    }
}

TEST(ChosenScreen, IsTheOneOfTheNameElseWithTheFocusElseThePrimaryElseTheFirst) {
    const std::vector<X11Screen> screens{
        {"VGA-1", false, {0, 0, 800, 600}}, {"LVDS-1", true, {800, 0, 800, 600}}, {"DP-1", false, {1600, 0, 800, 600}}};
    const auto chosen = [&](const char* name, std::optional<QPoint> focus) {
        return chosen_screen(screens, name, focus).name;
    };
    EXPECT_EQ(chosen("DP-1", QPoint(10, 10)), "DP-1");
    EXPECT_EQ(chosen("HDMI-1", QPoint(10, 10)), "LVDS-1");
    EXPECT_EQ(chosen("", QPoint(10, 10)), "VGA-1");
    EXPECT_EQ(chosen("", QPoint(-10, 10)), "LVDS-1");
    EXPECT_EQ(chosen("", std::nullopt), "LVDS-1");
    EXPECT_EQ(chosen_screen({{"VGA-1", false, {}}}, "", std::nullopt).name, "VGA-1");
}

}  // namespace
}  // namespace happe::ui
