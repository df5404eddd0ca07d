// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/hyprland_protocol.h"

#include <gtest/gtest.h>

namespace happe::ui {
namespace {

// Hyprland 0.41's answer to j/activewindow, shortened.
constexpr const char* kAnswer =
    R"({"address": "0x55d2", "mapped": true, "workspace": {"id": 1, "name": "1"}, "class": "kitty", "pid": 3248,
        "xwayland": false, "title": "~"})";

TEST(FocusInAnswer, IsTheActiveWindow) {
    EXPECT_EQ(*focus_in_answer(kAnswer), (Focus{3248, "kitty"}));
}

TEST(FocusInAnswer, IsNoneWhereNoWindowIsActive) {
    for (const char* const json : {"{}", R"({"pid":-1,"class":""})", R"({"pid":"7"})", R"({"pid":1e300})"}) {
        EXPECT_EQ(*focus_in_answer(json), std::nullopt) << json;
    }
}

TEST(FocusInAnswer, SaysWhatIsNoAnswer) {
    const std::string whole = kAnswer;
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_FALSE(focus_in_answer(whole.substr(0, length))) << length;
    }
    EXPECT_FALSE(focus_in_answer("unknown request"));
    EXPECT_FALSE(focus_in_answer(std::string(100'000, '[')));
}

TEST(HyprlandReader, HearsOfTheFocusInAnyPieces) {
    const std::string lines = "windowtitle>>55d2\nactivewindow>>kitty,~\nactivewindowv2>>55d2\nopenlayer>>x\n";
    for (std::size_t piece = 1; piece <= lines.size(); ++piece) {
        HyprlandReader reader;
        int moved = 0;
        for (std::size_t at = 0; at < lines.size(); at += piece) {
            moved += *reader.moved_by(std::string_view(lines).substr(at, piece)) ? 1 : 0;
        }
        EXPECT_EQ(moved, 1) << piece;
    }
}

TEST(HyprlandReader, HearsNothingInATitleThatSaysSo) {
    HyprlandReader reader;
    EXPECT_FALSE(*reader.moved_by("windowtitlev2>>55d2,activewindowv2>>1\n"));
    EXPECT_TRUE(*reader.moved_by("closewindow>>55d2\n"));
}

TEST(HyprlandReader, RefusesALineThatDoesNotEnd) {
    HyprlandReader reader;
    EXPECT_TRUE(reader.moved_by(std::string(HyprlandReader::kMostLine, 'x')));
    EXPECT_EQ(reader.moved_by("x").error(), "a line of more than 65536 bytes");
}

}  // namespace
}  // namespace happe::ui
