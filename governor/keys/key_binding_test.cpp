// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_binding.h"

#include <gtest/gtest.h>
#include <linux/input-event-codes.h>
#include <algorithm>

namespace happe {
namespace {

KeyBinding binding(std::string_view text) {
    const auto parsed = parse_key_binding(text);
    EXPECT_TRUE(parsed) << text << ": " << parsed.error().message;
    return parsed.value_or(KeyBinding());
}

KeyBindings bindings(std::string_view performance, std::string_view power) {
    const auto parsed = parse_key_bindings(performance, power);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed.value_or(KeyBindings());
}

std::string error_of(std::string_view text) {
    const auto parsed = parse_key_binding(text);
    return parsed ? "no error" : parsed.error().message;
}

std::string error_of(std::string_view performance, std::string_view power) {
    const auto parsed = parse_key_bindings(performance, power);
    return parsed ? "no error" : parsed.error().message;
}

Modifiers down(std::initializer_list<KeyCode> codes) {
    Modifiers all;
    for (const KeyCode code : codes) {
        all.turn(code, true);
    }
    return all;
}

TEST(KeyBindingText, AKeyIsReadByItsNameAndWrittenBackInOneOrderOfModifiers) {
    EXPECT_EQ(binding("KEY_PROG1").code, KEY_PROG1);
    EXPECT_EQ(binding("KEY_PROG1").modifiers, Modifiers());
    for (const std::string_view text : {"KEY_PROG1", "LEFTCTRL+KEY_F12", "CTRL+KEY_F12", "RIGHTALT+KEY_F1",
                                        "CTRL+LEFTALT+SHIFT+RIGHTMETA+KEY_A", "META+KEY_1", "LEFTALT+KEY_ENTER"}) {
        EXPECT_EQ(to_string(binding(text)), text);
    }
    EXPECT_EQ(to_string(binding("RIGHTSHIFT+CTRL+KEY_A")), "CTRL+RIGHTSHIFT+KEY_A");
}

TEST(KeyBindingText, EachKeyThatNeedsNoModifierIsReadBackFromItsName) {
    for (const KeyCode code : keys_that_do_not_type()) {
        EXPECT_EQ(binding(key_name(code)), (KeyBinding{.code = code, .modifiers = {}}));
    }
}

TEST(KeyBindingText, WhatIsWrongIsSaidAndWhatMayHaveBeenMeant) {
    EXPECT_EQ(error_of("KEY_PROG"), "\"KEY_PROG\" is not a key; perhaps KEY_PROG1");
    EXPECT_EQ(error_of("prog2"), "\"prog2\" is not a key; perhaps KEY_PROG2");
    EXPECT_EQ(error_of("F12"), "\"F12\" is not a key; perhaps KEY_F12");
    EXPECT_EQ(error_of("BTN_LEFT"), "\"BTN_LEFT\" is not a key");
    EXPECT_EQ(error_of("CONTROL+KEY_F12"), "\"CONTROL\" is not a modifier");
    EXPECT_EQ(error_of("LEFT_CTRL+KEY_F12"), "\"LEFT_CTRL\" is not a modifier; perhaps LEFTCTRL");
    EXPECT_EQ(error_of("ctrl+KEY_F12"), "\"ctrl\" is not a modifier; perhaps CTRL");
    EXPECT_EQ(error_of("CTRL+LEFTCTRL+KEY_F12"), "CTRL appears twice");
    EXPECT_EQ(error_of("CTRL+"), "\"\" is not a key");
    EXPECT_EQ(error_of("+KEY_F12"), "\"\" is not a modifier");
    EXPECT_EQ(error_of("CTRL KEY_F12"), "\"CTRL KEY_F12\" is not a key");
    EXPECT_EQ(error_of("KEY_LEFTCTRL"), "KEY_LEFTCTRL is a modifier and needs a key after it");
    EXPECT_EQ(error_of("SHIFT+KEY_LEFTCTRL"), "KEY_LEFTCTRL is a modifier and needs a key after it");
}

TEST(KeyBindingText, NeitherTheReservedNorTheLastCodeNorANumberIsAKey) {
    for (const std::string_view text : {"KEY_RESERVED", "KEY_MAX", "KEY_CNT", "148", "0x94", "EV_KEY", "KEY_", "KEY"}) {
        EXPECT_TRUE(error_of(text).starts_with("\"" + std::string(text) + "\" is not a key")) << error_of(text);
    }
}

TEST(KeyBindingText, HostileTextIsAnErrorThatCanBePrinted) {
    EXPECT_EQ(error_of(""), "a key has 1 to 64 characters, as KEY_PROG1 or CTRL+KEY_F12");
    EXPECT_EQ(error_of(std::string(65, 'K')), "a key has 1 to 64 characters, as KEY_PROG1 or CTRL+KEY_F12");
    EXPECT_EQ(error_of(std::string(1'000'000, '+')), "a key has 1 to 64 characters, as KEY_PROG1 or CTRL+KEY_F12");
    EXPECT_EQ(error_of(std::string(64, '+')), "\"\" is not a modifier");
    EXPECT_EQ(error_of(std::string_view("KEY_PROG1\0", 10)), "\"KEY_PROG1\\x00\" is not a key; perhaps KEY_PROG1");
    EXPECT_EQ(error_of("KEY\x1b[2J\xff"), "\"KEY\\x1b[2J\\xff\" is not a key");
}

TEST(KeyBindingText, AKeyToTypeWithNeedsAModifierThatMakesACommandOfIt) {
    for (const std::string_view key :
         {"KEY_A", "KEY_0", "KEY_SPACE", "KEY_ENTER", "KEY_TAB", "KEY_BACKSPACE", "KEY_DOT", "KEY_KP5", "KEY_KPENTER",
          "KEY_102ND", "KEY_YEN", "KEY_CAPSLOCK", "KEY_FN"}) {
        const std::string name(key);
        const std::string refused = name + " types text, so it needs CTRL, META or LEFTALT";
        for (const std::string_view no_command : {"", "SHIFT+", "ALT+", "RIGHTALT+", "SHIFT+RIGHTALT+"}) {
            EXPECT_EQ(error_of(std::string(no_command) + name), refused);
        }
        for (const std::string_view command : {"CTRL+", "RIGHTCTRL+", "META+", "LEFTALT+", "CTRL+ALT+"}) {
            EXPECT_EQ(error_of(std::string(command) + name), "no error");
        }
    }
}

TEST(KeyBindingText, NoKeyOfLettersDigitsOrModifiersIsAmongThoseThatDoNotType) {
    const auto codes = keys_that_do_not_type();
    EXPECT_TRUE(std::ranges::is_sorted(codes));
    for (const int code : {KEY_PROG1, KEY_F1, KEY_F24, KEY_VOLUMEUP, KEY_ESC, KEY_UP, KEY_MACRO30}) {
        EXPECT_TRUE(std::ranges::binary_search(codes, code)) << code;
    }
    for (const int code : {KEY_Q, KEY_P, KEY_M, KEY_1, KEY_0, KEY_KP0, KEY_KPDOT, KEY_LEFTSHIFT, KEY_RIGHTMETA,
                           KEY_NUMERIC_9, KEY_BRL_DOT8, BTN_LEFT, BTN_TOUCH, BTN_TRIGGER_HAPPY1}) {
        EXPECT_FALSE(std::ranges::binary_search(codes, code)) << code;
    }
}

TEST(KeyBindingPair, OneThatCannotBeToldFromTheOtherIsRefused) {
    EXPECT_EQ(error_of("KEY_PROG1", "KEY_PROG1"),
              "keys.power: KEY_PROG1 cannot be distinguished from keys.performance, KEY_PROG1");
    EXPECT_EQ(error_of("LEFTCTRL+KEY_F1", "CTRL+KEY_F1"),
              "keys.power: CTRL+KEY_F1 cannot be distinguished from keys.performance, LEFTCTRL+KEY_F1");
    EXPECT_EQ(error_of("LEFTCTRL+KEY_F1", "RIGHTCTRL+KEY_F1"), "no error");
    EXPECT_EQ(error_of("CTRL+KEY_F1", "META+KEY_F1"), "no error");
    EXPECT_EQ(error_of("KEY_F1", "CTRL+KEY_F1"), "no error");
}

TEST(KeyBindingPair, AnErrorNamesTheOption) {
    EXPECT_EQ(error_of("KEY_A", "KEY_PROG2"), "keys.performance: KEY_A types text, so it needs CTRL, META or LEFTALT");
    EXPECT_EQ(error_of("KEY_PROG1", "KEY_PROG22"), "keys.power: \"KEY_PROG22\" is not a key; perhaps KEY_PROG2");
}

TEST(KeyPress, AKeyWithoutModifiersCountsWhateverElseIsHeld) {
    const auto keys = bindings("KEY_PROG1", "CTRL+KEY_F12");

    EXPECT_EQ(pressed_key(keys, KEY_PROG1, {}), Key::Performance);
    EXPECT_EQ(pressed_key(keys, KEY_PROG1, down({KEY_LEFTCTRL, KEY_RIGHTSHIFT})), Key::Performance);
    EXPECT_EQ(pressed_key(keys, KEY_PROG2, {}), std::nullopt);
}

TEST(KeyPress, AModifierMustBeDownOnASideThatWasAskedFor) {
    const auto keys = bindings("LEFTCTRL+KEY_F11", "CTRL+SHIFT+KEY_F12");

    EXPECT_EQ(pressed_key(keys, KEY_F11, {}), std::nullopt);
    EXPECT_EQ(pressed_key(keys, KEY_F11, down({KEY_RIGHTCTRL})), std::nullopt);
    EXPECT_EQ(pressed_key(keys, KEY_F11, down({KEY_LEFTCTRL, KEY_RIGHTCTRL})), Key::Performance);
    EXPECT_EQ(pressed_key(keys, KEY_F12, down({KEY_RIGHTCTRL})), std::nullopt);
    EXPECT_EQ(pressed_key(keys, KEY_F12, down({KEY_RIGHTCTRL, KEY_LEFTSHIFT})), Key::Power);
}

TEST(KeyPress, WhereBothFitTheOneWithMoreModifiersIsMeant) {
    EXPECT_EQ(pressed_key(bindings("KEY_F1", "CTRL+KEY_F1"), KEY_F1, {}), Key::Performance);
    EXPECT_EQ(pressed_key(bindings("KEY_F1", "CTRL+KEY_F1"), KEY_F1, down({KEY_LEFTCTRL})), Key::Power);
    EXPECT_EQ(pressed_key(bindings("CTRL+KEY_F1", "KEY_F1"), KEY_F1, down({KEY_LEFTCTRL})), Key::Performance);
    EXPECT_EQ(pressed_key(bindings("CTRL+KEY_F1", "META+KEY_F1"), KEY_F1, down({KEY_LEFTCTRL, KEY_LEFTMETA})),
              Key::Performance);
}

TEST(KeyPress, AModifierIsUpAgainWhenItsOwnSideIs) {
    Modifiers held = down({KEY_LEFTCTRL, KEY_RIGHTCTRL});
    held.turn(KEY_LEFTCTRL, false);
    held.turn(KEY_A, true);
    held.turn(KEY_LEFTALT, false);

    EXPECT_EQ(held, down({KEY_RIGHTCTRL}));
}

TEST(KeyCodes, OnlyTheTwoKeysAndTheModifiersAskedForAreWatched) {
    EXPECT_EQ(watched_codes(bindings("KEY_PROG1", "KEY_PROG2")), (std::vector<KeyCode>{KEY_PROG1, KEY_PROG2}));
    EXPECT_EQ(watched_codes(bindings("CTRL+KEY_F12", "CTRL+LEFTALT+KEY_F12")),
              (std::vector<KeyCode>{KEY_LEFTCTRL, KEY_LEFTALT, KEY_F12, KEY_RIGHTCTRL}));
}

}  // namespace
}  // namespace happe
