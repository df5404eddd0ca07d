// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_service.h"

#include "governor/keys/key_fixture.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <fstream>
#include <future>
#include <map>

namespace happe {
namespace {

KeyBindings configured() {
    return parse_key_bindings("KEY_PROG1", "LEFTCTRL+KEY_F12").value();
}

// A folder of names, with a pipe behind some of them; the test has the other end of the service's socket.
class KeyServiceTest : public LoopFixture {
public:
    KeyServiceTest() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        daemon = FileDescriptor(ends[0]);
        helper = FileDescriptor(ends[1]);
    }

protected:
    void has_node(const std::string& name) const { std::ofstream(folder / name) << ""; }
    DevicePipe& has_keyboard(const std::string& name) {
        has_node(name);
        return keyboards[name];
    }
    KeyService service(Result<KeyBindings> configuration = configured()) {
        return {folder, std::move(configuration),
                [this](const std::string& path, std::span<const KeyCode> with, std::span<const KeyCode> needs) {
                    return opens(path, with, needs);
                }};
    }
    Result<std::optional<FileDescriptor>> opens(const std::string& path, std::span<const KeyCode> with,
                                                std::span<const KeyCode> needs) {
        opened.push_back(path);
        codes.assign(with.begin(), with.end());
        wanted.assign(needs.begin(), needs.end());
        const std::string name = std::filesystem::path(path).filename();
        if (broken.contains(name)) {
            return failure(path + ": broken");
        }
        const auto found = keyboards.find(name);
        if (found == keyboards.end()) {
            return std::nullopt;
        }
        FileDescriptor file(::fcntl(found->second.device.get(), F_DUPFD_CLOEXEC, 0));
        ::fcntl(file.get(), F_SETFL, O_NONBLOCK);
        return std::optional(std::move(file));
    }
    std::string says() const { return receive_key_packet(daemon.get()).value().text; }

    static KeyRequest open(std::string node) { return OpenRequest{.node = std::move(node), .bindings = configured()}; }
    static KeyRequest learn(int milliseconds) { return LearnRequest{std::chrono::milliseconds{milliseconds}}; }

    FileDescriptor daemon;
    FileDescriptor helper;
    std::map<std::string, DevicePipe> keyboards;
    std::map<std::string, bool> broken;
    std::vector<std::string> opened;
    std::vector<KeyCode> codes;
    std::vector<KeyCode> wanted;
};

TEST_F(KeyServiceTest, HandsOverAKeyboardMaskedToTheTwoKeysAndTheirModifiers) {
    const DevicePipe& pipe = has_keyboard("event7");

    EXPECT_TRUE(service().answer(helper.get(), open("event7")));

    const KeyPacket packet = receive_key_packet(daemon.get()).value();
    EXPECT_EQ(packet.text, "keyboard event7");
    EXPECT_EQ(says(), "end");
    EXPECT_EQ(opened, std::vector{(folder / "event7").string()});
    EXPECT_EQ(codes, (std::vector<KeyCode>{KEY_LEFTCTRL, KEY_F12, KEY_PROG1}));
    EXPECT_EQ(wanted, (std::vector<KeyCode>{KEY_PROG1, KEY_F12}));
    pipe.has({event(EV_KEY, KEY_PROG1, 1)});
    input_event read{};
    EXPECT_EQ(::read(packet.file.get(), &read, sizeof(read)), static_cast<ssize_t>(sizeof(read)));
    EXPECT_EQ(read.code, KEY_PROG1);
}

TEST_F(KeyServiceTest, AllAreTheEventNodesOfTheFolder) {
    has_keyboard("event2");
    has_keyboard("event10");
    has_node("event3");
    has_node("mouse0");
    std::filesystem::create_directory(folder / "by-id");

    EXPECT_TRUE(service().answer(helper.get(), open("all")));

    EXPECT_EQ(says(), "keyboard event10");
    EXPECT_EQ(says(), "keyboard event2");
    EXPECT_EQ(says(), "end");
    EXPECT_EQ(opened.size(), 3U);
}

TEST_F(KeyServiceTest, OneBrokenDeviceKeepsNoOtherBack) {
    broken["event1"] = true;
    has_node("event1");
    has_keyboard("event2");

    EXPECT_TRUE(service().answer(helper.get(), open("all")));
    EXPECT_EQ(says(), "keyboard event2");
    EXPECT_EQ(says(), "end");

    keyboards.clear();
    EXPECT_FALSE(service().answer(helper.get(), open("all")));
    EXPECT_EQ(says(), "error " + (folder / "event1").string() + ": broken");
}

TEST_F(KeyServiceTest, OtherKeysThanTheConfigurationsAreRefusedAndNothingIsOpened) {
    has_keyboard("event1");
    const KeyRequest other =
        OpenRequest{.node = "all", .bindings = parse_key_bindings("KEY_PROG1", "CTRL+KEY_A").value()};

    EXPECT_FALSE(service().answer(helper.get(), other));

    EXPECT_EQ(says(),
              "error the request names other keys than the configuration: after changing it, run `happectl reload`");
    EXPECT_TRUE(opened.empty());
}

TEST_F(KeyServiceTest, WithABrokenConfigurationNothingIsOpened) {
    has_keyboard("event1");

    EXPECT_FALSE(service(failure("happe.toml:3: no")).answer(helper.get(), open("all")));

    EXPECT_EQ(says(), "error happe.toml:3: no");
    EXPECT_TRUE(opened.empty());
}

TEST_F(KeyServiceTest, WhoHasGoneIsNotHandedAnything) {
    has_keyboard("event1");
    daemon = FileDescriptor();

    const Status answered = service().answer(helper.get(), open("all"));

    ASSERT_FALSE(answered);
    EXPECT_EQ(answered.error().message, "cannot send: Broken pipe");
}

TEST_F(KeyServiceTest, LearnsTheFirstKeyThatGoesDownOnAnyKeyboard) {
    has_keyboard("event1").has({event(EV_SYN, SYN_DROPPED, 0), event(EV_KEY, KEY_PROG1, 0)});
    has_keyboard("event2").has({event(EV_KEY, KEY_A, 1), event(EV_KEY, KEY_MUTE, 2), event(EV_KEY, KEY_PROG3, 1),
                                event(EV_KEY, KEY_PROG4, 1)});

    EXPECT_TRUE(service(failure("a broken configuration doesn't matter")).answer(helper.get(), learn(10'000)));

    EXPECT_EQ(says(), "key KEY_PROG3");
    EXPECT_EQ(says(), "end");
    EXPECT_EQ(codes, keys_that_do_not_type());
    EXPECT_EQ(wanted, codes);
}

TEST_F(KeyServiceTest, LearnsNothingWhenTheTimeIsOver) {
    has_keyboard("event1").has({event(EV_KEY, KEY_A, 1)});
    has_keyboard("event2").unplug();
    broken["event3"] = true;
    has_node("event3");

    EXPECT_TRUE(service().answer(helper.get(), learn(20)));

    EXPECT_EQ(says(), "end");
}

TEST_F(KeyServiceTest, LearningEndsWhenWhoAskedHasGone) {
    has_keyboard("event1");
    auto answered = std::async(std::launch::async, [&] { return service().answer(helper.get(), learn(60'000)); });

    daemon = FileDescriptor();

    EXPECT_EQ(answered.wait_for(std::chrono::seconds{10}), std::future_status::ready);
    EXPECT_FALSE(answered.get());
}

TEST_F(KeyServiceTest, WithNoKeyboardNothingCanBeLearned) {
    has_node("event1");

    EXPECT_FALSE(service().answer(helper.get(), learn(60'000)));

    EXPECT_EQ(says(), "error there is no keyboard with a key that can be learned");
}

TEST_F(KeyServiceTest, OnlyAnEventDeviceIsOpened) {
    has_node("plain");
    std::filesystem::create_symlink("/dev/null", folder / "link");
    std::filesystem::create_directory(folder / "directory");
    ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
    const std::vector<KeyCode> keys{KEY_PROG1};
    const auto error_of = [&](const std::string& path) {
        const auto keyboard = open_keyboard(path, keys, keys);
        return keyboard ? "no error" : keyboard.error().message.substr(path.size());
    };

    EXPECT_EQ(error_of((folder / "plain").string()), ": not an input device");
    EXPECT_EQ(error_of((folder / "link").string()), ": cannot open: Too many levels of symbolic links");
    EXPECT_EQ(error_of((folder / "directory").string()), ": not an input device");
    EXPECT_EQ(error_of((folder / "fifo").string()), ": not an input device");
    EXPECT_EQ(error_of("/dev/null"), ": not an input device");
    EXPECT_FALSE(open_keyboard((folder / "missing").string(), keys, keys).value());
}

}  // namespace
}  // namespace happe
