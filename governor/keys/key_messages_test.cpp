// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_messages.h"

#include <gtest/gtest.h>
#include <linux/input-event-codes.h>

namespace happe {
namespace {

std::string request_error(std::string_view text) {
    const auto parsed = parse_key_request(text);
    return parsed ? "no error" : parsed.error().message;
}

std::string answer_error(std::string_view text) {
    const auto parsed = parse_key_answer(text);
    return parsed ? "no error" : parsed.error().message;
}

KeyBindings some_bindings() {
    return parse_key_bindings("KEY_PROG1", "LEFTCTRL+KEY_F12").value();
}

TEST(KeyRequestText, IsReadBackAsItWasWritten) {
    const KeyRequest one = OpenRequest{.node = "event17", .bindings = some_bindings()};
    const KeyRequest all = OpenRequest{.node = std::string(kAllNodes), .bindings = some_bindings()};
    const KeyRequest learn = LearnRequest{std::chrono::milliseconds{60'000}};

    EXPECT_EQ(to_string(one), "happe-keys 1 open event17 KEY_PROG1 LEFTCTRL+KEY_F12");
    EXPECT_EQ(to_string(all), "happe-keys 1 open all KEY_PROG1 LEFTCTRL+KEY_F12");
    EXPECT_EQ(to_string(learn), "happe-keys 1 learn 60000");
    for (const KeyRequest& request : {one, all, learn}) {
        EXPECT_EQ(parse_key_request(to_string(request)).value(), request);
    }
}

TEST(KeyRequestText, WhatIsWrongIsSaid) {
    EXPECT_EQ(request_error(""), "not a request of \"happe-keys 1\"");
    EXPECT_EQ(request_error("happe-keys 2 learn 1"), "not a request of \"happe-keys 1\"");
    EXPECT_EQ(request_error("happe-keys 11 learn 1"), "not a request of \"happe-keys 1\"");
    EXPECT_EQ(request_error("happe-keys 1"), "not a request of \"happe-keys 1\"");
    EXPECT_EQ(request_error("happe-keys 1 "), "neither open nor learn");
    EXPECT_EQ(request_error("happe-keys 1 grab event1"), "neither open nor learn");
    EXPECT_EQ(request_error("happe-keys 1 learn 0"), "learn: not 1 to 60000 milliseconds");
    EXPECT_EQ(request_error("happe-keys 1 open event1"),
              "open: keys.performance: a key has 1 to 64 characters, as KEY_PROG1 or CTRL+KEY_F12");
    EXPECT_EQ(request_error("happe-keys 1 open event1 KEY_PROG1 KEY_A"),
              "open: keys.power: KEY_A types text, so it needs CTRL, META or LEFTALT");
    EXPECT_EQ(request_error("happe-keys 1 open event1 KEY_PROG1 KEY_PROG2 "),
              "open: keys.power: \"KEY_PROG2 \" is not a key; perhaps KEY_PROG2");
    EXPECT_EQ(request_error(std::string(513, 'x')), "a request that is too long");
}

TEST(KeyRequestText, ATimeToLearnIsWrittenInOneWay) {
    for (const std::string_view time :
         {"60001", "99999999999999999999", "-1", "+1", "01", "1 ", " 1", "1.5", "1s", ""}) {
        EXPECT_EQ(request_error("happe-keys 1 learn " + std::string(time)), "learn: not 1 to 60000 milliseconds");
    }
}

TEST(EventNode, IsTheKernelsNameAndNeverAPath) {
    for (const std::string_view name : {"event0", "event9", "event65535"}) {
        EXPECT_TRUE(is_event_node(name)) << name;
    }
    for (const std::string_view name :
         {"", "event", "event-1", "event+1", "event01", "event65536", "event1 ", " event1", "Event1", "mouse0", "js0",
          "event1/../mem", "../event1", "/dev/input/event1", "event1x", "event99999999999999999999"}) {
        EXPECT_FALSE(is_event_node(name)) << name;
        EXPECT_EQ(request_error("happe-keys 1 open " + std::string(name) + " KEY_PROG1 KEY_PROG2").substr(0, 6),
                  "open: ");
    }
    EXPECT_FALSE(is_event_node(std::string_view("event1\0", 7)));
}

TEST(KeyAnswerText, IsReadBackAsItWasWritten) {
    for (const KeyAnswer& answer : {KeyAnswer(FoundKeyboard{"event3"}), KeyAnswer(LearnedKey{KEY_PROG1}),
                                    KeyAnswer(EndOfAnswer{}), KeyAnswer(Refusal{"no such thing"})}) {
        EXPECT_EQ(parse_key_answer(to_string(answer)).value(), answer);
    }
}

TEST(KeyAnswerText, WhateverIsRefusedFits) {
    EXPECT_EQ(to_string(Refusal{"a\nend\x1b"}), "error a?end?");
    EXPECT_EQ(to_string(Refusal{std::string(9000, 'm')}).size(), 406U);
    EXPECT_EQ(to_string(Refusal{""}), "error ?");
}

TEST(KeyAnswerText, WhatIsWrongIsSaid) {
    EXPECT_EQ(answer_error(""), "not an answer of happed-keys");
    EXPECT_EQ(answer_error("end "), "not an answer of happed-keys");
    EXPECT_EQ(answer_error("error"), "not an answer of happed-keys");
    EXPECT_EQ(answer_error("error a\nb"), "not an answer of happed-keys");
    EXPECT_EQ(answer_error("keyboard"), "keyboard: not an event node");
    EXPECT_EQ(answer_error("keyboard mouse1"), "keyboard: not an event node");
    EXPECT_EQ(answer_error("keyboard event1 name"), "keyboard: not an event node");
    EXPECT_EQ(answer_error("key"), "key: not a key that can be bound");
    EXPECT_EQ(answer_error("key KEY_A"), "key: not a key that can be bound");
    EXPECT_EQ(answer_error("key CTRL+KEY_F1"), "key: not a key that can be bound");
    EXPECT_EQ(answer_error(std::string(513, 'e')), "an answer that is too long");
}

}  // namespace
}  // namespace happe
