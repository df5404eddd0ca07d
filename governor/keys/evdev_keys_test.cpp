// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/evdev_keys.h"
#include "governor/keys/key_fixture.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <fstream>
#include <limits>

namespace happe {
namespace {

constexpr auto kOpenAll = "happe-keys 1 open all KEY_PROG1 LEFTCTRL+KEY_F12";

KeyBindings bindings(std::string_view performance = "KEY_PROG1", std::string_view power = "LEFTCTRL+KEY_F12") {
    return parse_key_bindings(performance, power).value();
}

class KeysOfKeyboards : public LoopFixture {
protected:
    KeysOfKeyboards() { std::filesystem::create_directory(folder / "input"); }

    void start() {
        keys = std::make_unique<EvdevKeys>(
            loop, bindings(),
            EvdevKeys::Hooks{.pressed = [this] { ++pressed; },
                             .keyboards_changed = [this] { ++changes; },
                             .failed = [this](const Error& error) { errors.push_back(error.message); }},
            EvdevKeys::Paths{.devices = (folder / "input").string(), .helper = helper.path.string()});
    }
    // Starts with these keyboards plugged in.
    void start_with(std::vector<std::pair<std::string, int>> found) {
        const std::size_t count = found.size();
        helper.replies.push_back(FakeHelper::keyboards(std::move(found)));
        start();
        ASSERT_TRUE(runs_until([&] { return keys->keyboards() == count; }));
    }
    std::vector<Press> taken() const {
        runs();
        std::vector<Press> presses;
        keys->take(presses);
        return presses;
    }
    std::vector<Key> taken_keys() const {
        std::vector<Key> which;
        std::ranges::transform(taken(), std::back_inserter(which), &Press::key);
        return which;
    }

    FakeHelper helper{loop.get(), folder / "keys.sock"};
    DevicePipe one;
    DevicePipe two;
    int pressed = 0;
    int changes = 0;
    std::vector<std::string> errors;
    std::unique_ptr<EvdevKeys> keys;
};

const std::vector<Key> kNone;

TEST_F(KeysOfKeyboards, APressIsTakenOnceWithTheTimeOfTheKernelsStamp) {
    start_with({{"event1", one.device.get()}});
    const MonoTime at = monotonic_now() - std::chrono::milliseconds{1500};

    one.has({event(EV_KEY, KEY_PROG1, 1, at), event(EV_SYN, SYN_REPORT, 0, at)});

    const auto presses = taken();
    ASSERT_EQ(presses.size(), 1U);
    EXPECT_EQ(presses[0].key, Key::Performance);
    EXPECT_EQ(presses[0].at, at);
    EXPECT_EQ(pressed, 1);
    EXPECT_EQ(taken_keys(), kNone);
}

TEST_F(KeysOfKeyboards, RepeatsReleasesOtherKeysTypesAndValuesAreNoPresses) {
    start_with({{"event1", one.device.get()}});

    one.has({event(EV_KEY, KEY_PROG1, 2), event(EV_KEY, KEY_PROG1, 0), event(EV_KEY, KEY_A, 1),
             event(EV_KEY, KEY_PROG1, -1), event(EV_KEY, KEY_PROG1, 3), event(EV_REL, KEY_PROG1, 1),
             event(EV_MSC, MSC_SCAN, 1), event(EV_KEY, 0xffff, 1), event(0xffff, KEY_PROG1, 1)});

    EXPECT_EQ(taken_keys(), kNone);
    EXPECT_EQ(pressed, 0);
    EXPECT_EQ(keys->keyboards(), 1U);
}

TEST_F(KeysOfKeyboards, AModifierHeldOnOneKeyboardCountsOnAnother) {
    start_with({{"event1", one.device.get()}, {"event2", two.device.get()}});
    two.has({event(EV_KEY, KEY_F12, 1), event(EV_KEY, KEY_F12, 0)});
    EXPECT_EQ(taken_keys(), kNone);

    one.has({event(EV_KEY, KEY_LEFTCTRL, 1)});
    EXPECT_EQ(taken_keys(), kNone);
    two.has({event(EV_KEY, KEY_F12, 1), event(EV_KEY, KEY_F12, 0)});
    EXPECT_EQ(taken_keys(), std::vector{Key::Power});

    one.has({event(EV_KEY, KEY_LEFTCTRL, 0)});
    EXPECT_EQ(taken_keys(), kNone);
    two.has({event(EV_KEY, KEY_F12, 1)});
    EXPECT_EQ(taken_keys(), kNone);
}

TEST_F(KeysOfKeyboards, AModifierIsUpAfterEventsWereDroppedAndWhenItsKeyboardIsUnplugged) {
    start_with({{"event1", one.device.get()}, {"event2", two.device.get()}});

    one.has({event(EV_KEY, KEY_LEFTCTRL, 1), event(EV_SYN, SYN_DROPPED, 0), event(EV_KEY, KEY_F12, 1)});
    EXPECT_EQ(taken_keys(), kNone);

    one.has({event(EV_KEY, KEY_LEFTCTRL, 1), event(EV_KEY, KEY_F12, 1)});
    EXPECT_EQ(taken_keys(), std::vector{Key::Power});
    one.unplug();
    EXPECT_TRUE(runs_until([&] { return keys->keyboards() == 1; }));
    two.has({event(EV_KEY, KEY_F12, 1)});
    EXPECT_EQ(taken_keys(), kNone);
}

TEST_F(KeysOfKeyboards, PressesAreInOrderOfTimeAndNeverBeforeOneThatWasTaken) {
    start_with({{"event1", one.device.get()}, {"event2", two.device.get()}});
    const MonoTime now = monotonic_now();
    const auto ago = [now](int milliseconds) { return now - std::chrono::milliseconds{milliseconds}; };

    one.has({event(EV_KEY, KEY_PROG1, 1, ago(30)), event(EV_KEY, KEY_PROG1, 1, ago(10))});
    two.has({event(EV_KEY, KEY_PROG1, 1, ago(20))});
    auto presses = taken();
    ASSERT_EQ(presses.size(), 3U);
    EXPECT_EQ(presses[0].at, ago(30));
    EXPECT_EQ(presses[1].at, ago(20));
    EXPECT_EQ(presses[2].at, ago(10));

    two.has({event(EV_KEY, KEY_PROG1, 1, ago(15))});
    presses = taken();
    ASSERT_EQ(presses.size(), 1U);
    EXPECT_EQ(presses[0].at, ago(10));
}

TEST_F(KeysOfKeyboards, AnImpossibleStampIsNow) {
    start_with({{"event1", one.device.get()}});
    const MonoTime before = monotonic_now();
    input_event past = event(EV_KEY, KEY_PROG1, 1);
    past.input_event_sec = std::numeric_limits<decltype(past.input_event_sec)>::min();
    input_event future = event(EV_KEY, KEY_PROG1, 1);
    future.input_event_sec = std::numeric_limits<decltype(future.input_event_sec)>::max();
    input_event odd = event(EV_KEY, KEY_PROG1, 1);
    odd.input_event_usec = std::numeric_limits<decltype(odd.input_event_usec)>::max();

    one.has({past, future, odd, event(EV_KEY, KEY_PROG1, 1, before + std::chrono::hours{1})});

    const auto presses = taken();
    ASSERT_EQ(presses.size(), 4U);
    for (const Press& press : presses) {
        EXPECT_GE(press.at, before);
        EXPECT_LE(press.at, monotonic_now());
    }
}

TEST_F(KeysOfKeyboards, WhatNobodyTakesIsBounded) {
    start_with({{"event1", one.device.get()}});
    for (int i = 0; i < 20; ++i) {
        one.has(std::vector<input_event>(50, event(EV_KEY, KEY_PROG1, 1)));
        runs();
    }

    EXPECT_EQ(taken().size(), EvdevKeys::kMostWaiting);
}

TEST_F(KeysOfKeyboards, ADescriptorThatGivesHalfAnEventIsGivenUp) {
    start_with({{"event1", one.device.get()}, {"event2", two.device.get()}});

    EXPECT_EQ(::write(one.kernel.get(), "half", 4), 4);

    EXPECT_TRUE(runs_until([&] { return keys->keyboards() == 1; }));
    EXPECT_EQ(errors, std::vector<std::string>{"event1: Bad message"});
    EXPECT_EQ(changes, 2);
}

TEST_F(KeysOfKeyboards, AFileThatIsNoDeviceIsRefused) {
    std::ofstream(folder / "plain") << "x";
    const FileDescriptor plain(::open((folder / "plain").c_str(), O_RDONLY | O_CLOEXEC));
    helper.replies.push_back(FakeHelper::keyboards({{"event1", plain.get()}, {"event2", one.device.get()}}));
    start();

    EXPECT_TRUE(runs_until([&] { return !errors.empty(); }));

    EXPECT_EQ(errors, std::vector<std::string>{"event1: Operation not permitted"});
    EXPECT_EQ(keys->keyboards(), 1U);
}

TEST_F(KeysOfKeyboards, TheHelperIsAskedForAllAtFirstAndThenForEachNodeThatAppears) {
    start_with({{"event1", one.device.get()}});
    helper.replies.push_back(FakeHelper::keyboards({}));
    helper.replies.push_back(FakeHelper::keyboards({{"event3", two.device.get()}}));

    std::ofstream(folder / "input" / "event2") << "";
    std::ofstream(folder / "input" / "event3") << "";
    std::ofstream(folder / "input" / "mouse1") << "";

    EXPECT_TRUE(runs_until([&] { return keys->keyboards() == 2; }));
    EXPECT_EQ(helper.asked, (std::vector<std::string>{kOpenAll, "happe-keys 1 open event2 KEY_PROG1 LEFTCTRL+KEY_F12",
                                                      "happe-keys 1 open event3 KEY_PROG1 LEFTCTRL+KEY_F12"}));
    EXPECT_EQ(changes, 2);
    two.has({event(EV_KEY, KEY_PROG1, 1)});
    EXPECT_EQ(taken_keys(), std::vector{Key::Performance});
}

TEST_F(KeysOfKeyboards, ANodeThatComesBackReplacesTheOldDevice) {
    start_with({{"event1", one.device.get()}});
    helper.replies.push_back(FakeHelper::keyboards({{"event1", two.device.get()}}));

    std::ofstream(folder / "input" / "event1") << "";
    ASSERT_TRUE(runs_until([&] { return changes == 2; }));

    EXPECT_EQ(keys->keyboards(), 1U);
    one.has({event(EV_KEY, KEY_PROG1, 1)});
    EXPECT_EQ(taken_keys(), kNone);
    two.has({event(EV_KEY, KEY_PROG1, 1)});
    EXPECT_EQ(taken_keys(), std::vector{Key::Performance});
}

TEST_F(KeysOfKeyboards, AHelperThatFailsIsAskedOnceMoreAndThenItIsSaid) {
    helper.replies.emplace_back([](int) {});
    helper.replies.push_back(FakeHelper::keyboards({{"event1", one.device.get()}}));
    start();
    EXPECT_TRUE(runs_until([&] { return keys->keyboards() == 1; }));
    EXPECT_TRUE(errors.empty());

    helper.replies.emplace_back([](int connection) { FakeHelper::says(connection, Refusal{"no"}); });
    helper.replies.emplace_back([](int connection) { FakeHelper::says(connection, Refusal{"no again"}); });
    std::ofstream(folder / "input" / "event2") << "";
    EXPECT_TRUE(runs_until([&] { return !errors.empty(); }));

    EXPECT_EQ(errors, std::vector<std::string>{"happed-keys: no again"});
    EXPECT_EQ(helper.asked.size(), 4U);
    EXPECT_EQ(keys->keyboards(), 1U);
}

TEST_F(KeysOfKeyboards, WithNoHelperItIsSaidOnceAndTheNextNodeTriesAgain) {
    std::filesystem::rename(helper.path, folder / "away");
    start();
    EXPECT_TRUE(errors.empty());  // never from within the constructor
    EXPECT_TRUE(runs_until([&] { return !errors.empty(); }));
    EXPECT_EQ(errors, std::vector<std::string>{helper.path.string() + ": No such file or directory"});

    std::filesystem::rename(folder / "away", helper.path);
    helper.replies.push_back(FakeHelper::keyboards({{"event1", one.device.get()}}));
    std::ofstream(folder / "input" / "event1") << "";

    EXPECT_TRUE(runs_until([&] { return keys->keyboards() == 1; }));
}

TEST_F(KeysOfKeyboards, OneQuestionIsAskedAtATimeAndNoneTwice) {
    start();
    ASSERT_TRUE(runs_until([&] { return helper.waiting.size() == 1; }));
    for (int i = 0; i < 3; ++i) {
        for (const std::string node : {"event1", "event2"}) {
            std::filesystem::remove(folder / "input" / node);
            std::ofstream(folder / "input" / node) << "";
        }
    }
    runs();
    EXPECT_EQ(helper.asked, std::vector<std::string>{kOpenAll});

    helper.replies.push_back(FakeHelper::keyboards({}));
    helper.replies.push_back(FakeHelper::keyboards({}));
    FakeHelper::keyboards({})(helper.waiting.front().get());

    EXPECT_TRUE(runs_until([&] { return helper.replies.empty(); }));
    runs();
    EXPECT_EQ(helper.asked, (std::vector<std::string>{kOpenAll, "happe-keys 1 open event1 KEY_PROG1 LEFTCTRL+KEY_F12",
                                                      "happe-keys 1 open event2 KEY_PROG1 LEFTCTRL+KEY_F12"}));
    EXPECT_TRUE(errors.empty());
}

TEST_F(KeysOfKeyboards, OtherKeysAreOtherDescriptors) {
    start_with({{"event1", one.device.get()}});
    one.has({event(EV_KEY, KEY_LEFTCTRL, 1), event(EV_KEY, KEY_PROG1, 1)});
    runs();
    helper.replies.push_back(FakeHelper::keyboards({{"event1", two.device.get()}}));

    keys->rebind(bindings("KEY_F5", "LEFTCTRL+KEY_F6"));

    EXPECT_EQ(keys->keyboards(), 0U);
    EXPECT_EQ(taken_keys(), kNone);  // a press of the old keys
    EXPECT_TRUE(runs_until([&] { return keys->keyboards() == 1; }));
    EXPECT_EQ(helper.asked.back(), "happe-keys 1 open all KEY_F5 LEFTCTRL+KEY_F6");
    two.has({event(EV_KEY, KEY_PROG1, 1), event(EV_KEY, KEY_F6, 1), event(EV_KEY, KEY_F5, 1)});
    EXPECT_EQ(taken_keys(), std::vector{Key::Performance});
}

TEST_F(KeysOfKeyboards, AnAnswerThatWasAskedForBeforeTheKeysChangedIsNotHeard) {
    start();
    ASSERT_TRUE(runs_until([&] { return helper.waiting.size() == 1; }));
    const FileDescriptor old = std::move(helper.waiting.front());
    helper.replies.push_back(FakeHelper::keyboards({{"event1", two.device.get()}}));

    keys->rebind(bindings("KEY_F5", "KEY_F6"));
    FakeHelper::keyboards({{"event1", one.device.get()}, {"event2", one.device.get()}})(old.get());

    EXPECT_TRUE(runs_until([&] { return keys->keyboards() == 1; }));
    runs();
    EXPECT_EQ(keys->keyboards(), 1U);
    EXPECT_TRUE(errors.empty());
}

class WatchedInput : public LoopFixture {
protected:
    void watch() {
        auto watched =
            InputDirectory::watch(loop, input,
                                  {.appeared = [this](const std::string& node) { nodes.push_back(node); },
                                   .look_again = [this] { ++looks; },
                                   .failed = [this](const Error& error) { errors.push_back(error.message); }});
        ASSERT_TRUE(watched) << watched.error().message;
        directory = std::move(*watched);
    }
    void appears(const std::string& node) const { std::ofstream(input / node) << ""; }

    std::filesystem::path input = folder / "input";
    std::vector<std::string> nodes;
    int looks = 0;
    std::vector<std::string> errors;
    std::unique_ptr<InputDirectory> directory;
};

TEST_F(WatchedInput, TellsOfEventNodesThatAppearAndOfNothingElse) {
    std::filesystem::create_directory(input);
    appears("event0");
    watch();

    appears("event1");
    appears("mouse0");
    appears("event2.tmp");
    std::filesystem::create_directory(input / "by-id");
    std::filesystem::remove(input / "event0");
    appears("event0");

    EXPECT_TRUE(runs_until([&] { return nodes.size() == 2; }));
    EXPECT_EQ(nodes, (std::vector<std::string>{"event1", "event0"}));
    EXPECT_EQ(looks, 0);
}

TEST_F(WatchedInput, ADirectoryMayGoAndComeBack) {
    std::filesystem::create_directory(input);
    watch();
    for (int round = 1; round <= 3; ++round) {
        std::filesystem::remove_all(input);
        runs();
        std::filesystem::create_directory(input);
        EXPECT_TRUE(runs_until([&] { return looks == round; })) << round;
        nodes.clear();

        appears("event5");

        EXPECT_TRUE(runs_until([&] { return nodes.size() == 1; })) << round;
    }
    EXPECT_TRUE(errors.empty());
}

TEST_F(WatchedInput, AParentThatIsMissingTooIsAnError) {
    const auto watched = InputDirectory::watch(loop, folder / "no" / "input", {});

    ASSERT_FALSE(watched);
    EXPECT_EQ(watched.error().message, (folder / "no").string() + ": No such file or directory");
}

}  // namespace
}  // namespace happe
