// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/sway_protocol.h"

#include <gtest/gtest.h>
#include <cstring>

namespace happe::ui {
namespace {

// Windows 5 (Wayland) and 7 (XWayland) side by side, 9 floating; 6 is the container of 7.
std::string tree(int focused, const std::string& window = "4194316") {
    const auto at = [&](int id) {
        return R"("id":)" + std::to_string(id) + R"(,"focused":)" + (id == focused ? "true" : "false");
    };
    return "{" + at(1) + R"(,"type":"root","focus":[2],"nodes":[{)" + at(2) +
           R"(,"type":"output","focus":[3],"nodes":[{)" + at(3) + R"(,"type":"workspace","focus":[6,5,9],"nodes":[{)" +
           at(5) +
           R"(,"type":"con","pid":500,"app_id":"foot","window":null,"focus":[],"nodes":[],"floating_nodes":[]},{)" +
           at(6) + R"(,"type":"con","focus":[7],"nodes":[{)" + at(7) +
           R"(,"type":"con","pid":700,"app_id":null,"window":)" + window +
           R"(,"window_properties":{"class":"Game"},"focus":[],"nodes":[],"floating_nodes":[]}],"floating_nodes":[]}],)" +
           R"("floating_nodes":[{)" + at(9) + R"(,"pid":900,"app_id":"calc","focus":[],"nodes":[]}]}]}]})";
}

std::optional<ToldWindow> focus(const std::string& json) {
    const auto found = focus_in_tree(json);
    EXPECT_TRUE(found) << found.error();
    return found.value_or(std::nullopt);
}

TEST(FocusInTree, IsTheFocusedWindow) {
    EXPECT_EQ(focus(tree(5)), (ToldWindow{{500, "foot"}, 0}));
    EXPECT_EQ(focus(tree(7)), (ToldWindow{{700, "Game"}, 4'194'316}));
    EXPECT_EQ(focus(tree(9)), (ToldWindow{{900, "calc"}, 0}));
}

TEST(FocusInTree, IsTheLastWindowOfAFocusedContainer) {
    for (const int container : {3, 6}) {
        EXPECT_EQ(focus(tree(container)), (ToldWindow{{700, "Game"}, 4'194'316})) << container;
    }
}

TEST(FocusInTree, IsNoneWhereNoWindowHasIt) {
    for (const char* const json :
         {"{}", R"({"focused":false})", R"({"focused":true,"type":"workspace","focus":[]})",
          R"({"focused":true,"focus":[8],"nodes":[{"id":9,"pid":1}]})", R"({"focused":"yes","pid":1})",
          R"({"nodes":7,"floating_nodes":{"focused":true}})"}) {
        EXPECT_EQ(focus(json), std::nullopt) << json;
    }
}

TEST(FocusInTree, HasNoPidWhereSwaySaysNothingThatCouldBeOne) {
    for (const char* const pid : {"0", "-1", "null", "\"7\"", "1.5", "1e30", "99999999999", "[]", "{}"}) {
        const auto found = focus(R"({"focused":true,"app_id":"x","pid":)" + std::string(pid) + "}");
        EXPECT_EQ(found, (ToldWindow{{0, "x"}, 0})) << pid;
    }
    EXPECT_EQ(focus(tree(7, "-1"))->x11_window, 0U);
    EXPECT_EQ(focus(tree(7, "4294967296"))->x11_window, 0U);
}

TEST(FocusInTree, TakesTitlesThatAreNoText) {
    EXPECT_EQ(focus("{\"focused\":true,\"name\":\"\xff\xfe\",\"app_id\":\"x\",\"pid\":7}"), (ToldWindow{{7, "x"}, 0}));
}

TEST(FocusInTree, SaysWhatIsNoTree) {
    const std::string whole = tree(7);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_FALSE(focus_in_tree(whole.substr(0, length))) << length;
    }
    std::string deep;
    for (int level = 0; level < 100'000; ++level) {
        deep += R"({"nodes":[)";
    }
    for (const std::string& text : {deep, std::string("[]"), std::string("7"), std::string(3, '\0')}) {
        EXPECT_FALSE(focus_in_tree(text)) << text.substr(0, 20);
    }
}

TEST(SwayReader, PutsMessagesTogetherFromAnyPieces) {
    const std::string bytes = in_bytes({SwayMessage::kGetTree, "{}"}) + in_bytes({SwayMessage::kWindowEvent, ""});
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        SwayReader reader;
        std::vector<SwayMessage> found;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            reader.add(std::string_view(bytes).substr(at, piece));
            for (auto message = reader.next(); *message; message = reader.next()) {
                found.push_back(**message);
            }
        }
        ASSERT_EQ(found.size(), 2U) << piece;
        EXPECT_EQ(found[0].payload, "{}");
        EXPECT_EQ(found[1].type, SwayMessage::kWindowEvent);
    }
}

TEST(SwayReader, RefusesWhatIsNotSway) {
    for (const char* const bytes : {"HTTP/1.1 400", "i3-ipx", "j"}) {
        SwayReader reader;
        reader.add(bytes);
        EXPECT_FALSE(reader.next()) << bytes;
    }
}

TEST(SwayReader, RefusesAMessageThatIsLongerThanAnyBeforeItHasCome) {
    std::string bytes = in_bytes({SwayMessage::kGetTree, ""});
    const std::uint32_t length = SwayReader::kMostPayload + 1;
    std::memcpy(bytes.data() + 6, &length, sizeof length);
    SwayReader reader;
    reader.add(bytes);
    EXPECT_EQ(reader.next().error(), "a message of 16777217 bytes, more than any of sway's");
}

TEST(MovesFocus, IsWhatMayPutAnotherWindowInFront) {
    for (const char* const change : {"focus", "close", "new", "move", "something new"}) {
        EXPECT_TRUE(moves_focus({SwayMessage::kWindowEvent, R"({"change":")" + std::string(change) + R"("})"}))
            << change;
    }
    EXPECT_TRUE(moves_focus({SwayMessage::kWorkspaceEvent, R"({"change":"focus"})"}));
    EXPECT_TRUE(moves_focus({SwayMessage::kWindowEvent, "no JSON"}));
    EXPECT_FALSE(moves_focus({SwayMessage::kWindowEvent, R"({"change":"title"})"}));
    EXPECT_FALSE(moves_focus({SwayMessage::kSubscribe, R"({"success":true})"}));
}

}  // namespace
}  // namespace happe::ui
