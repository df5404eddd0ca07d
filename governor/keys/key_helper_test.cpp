// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_helper.h"

#include "governor/keys/key_fixture.h"

#include <gtest/gtest.h>
#include <linux/input-event-codes.h>
#include <sys/stat.h>
#include <cstring>

namespace happe {
namespace {

// How many of this process's descriptors are a pipe's reading end. None may be left over.
std::size_t open_ends(const DevicePipe& pipe) {
    const auto file = [](int number) { return "/proc/self/fd/" + std::to_string(number); };
    const auto target = std::filesystem::read_symlink(file(pipe.device.get()));
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        count += std::filesystem::read_symlink(entry, gone) == target ? 1 : 0;
    }
    return count;
}

class HelperCall : public LoopFixture {
protected:
    void ask(const KeyRequest& request, Micros time = std::chrono::seconds{5}) {
        auto asked = KeyHelperCall::ask(loop.get(), helper.path.string(), request, time, [this](auto answers) {
            call.reset();  // the owner may do so
            result.emplace(std::move(answers));
        });
        ASSERT_TRUE(asked) << asked.error().message;
        call = std::move(*asked);
    }
    std::string error_after(const FakeHelper::Reply& reply) {
        helper.replies.push_back(reply);
        ask(LearnRequest{std::chrono::milliseconds{5}});
        EXPECT_TRUE(runs_until([&] { return result.has_value(); }));
        return !result ? "no answer" : *result ? "no error" : result->error().message;
    }

    FakeHelper helper{loop.get(), folder / "keys.sock"};
    std::unique_ptr<KeyHelperCall> call;
    std::optional<Result<KeyAnswers>> result;
};

TEST_F(HelperCall, BringsKeyboardsWithTheirDescriptors) {
    const DevicePipe pipe;
    helper.replies.push_back(FakeHelper::keyboards({{"event3", pipe.device.get()}, {"event4", pipe.device.get()}}));

    ask(OpenRequest{.node = "all", .bindings = parse_key_bindings("KEY_PROG1", "KEY_PROG2").value()});

    ASSERT_TRUE(runs_until([&] { return result.has_value(); }));
    ASSERT_TRUE(*result) << result->error().message;
    EXPECT_EQ(helper.asked, std::vector<std::string>{"happe-keys 1 open all KEY_PROG1 KEY_PROG2"});
    ASSERT_EQ((*result)->keyboards.size(), 2U);
    EXPECT_EQ((*result)->keyboards[1].node, "event4");
    EXPECT_EQ(::fcntl((*result)->keyboards[0].file.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ((*result)->learned, std::nullopt);
}

TEST_F(HelperCall, BringsTheKeyThatWasLearnedOrNone) {
    EXPECT_EQ(error_after([](int connection) {
                  FakeHelper::says(connection, LearnedKey{KEY_PROG1});
                  FakeHelper::says(connection, EndOfAnswer{});
              }),
              "no error");
    EXPECT_EQ((*result)->learned, KEY_PROG1);

    result.reset();
    EXPECT_EQ(error_after([](int connection) { FakeHelper::says(connection, EndOfAnswer{}); }), "no error");
    EXPECT_EQ((*result)->learned, std::nullopt);
}

TEST_F(HelperCall, ARefusalIsAnErrorInTheHelpersWords) {
    EXPECT_EQ(error_after([](int connection) { FakeHelper::says(connection, Refusal{"no, thanks"}); }),
              "happed-keys: no, thanks");
}

TEST_F(HelperCall, AHelperThatEndsEarlyIsAnError) {
    const DevicePipe pipe;
    const std::size_t before = open_ends(pipe);

    EXPECT_EQ(error_after([](int) {}), "happed-keys: it ended without an answer");
    result.reset();
    EXPECT_EQ(
        error_after([&](int connection) { FakeHelper::says(connection, FoundKeyboard{"event1"}, pipe.device.get()); }),
        "happed-keys: it ended without an answer");

    EXPECT_EQ(open_ends(pipe), before);
}

TEST_F(HelperCall, GarbageIsAnErrorAndLeavesNoDescriptorBehind) {
    const DevicePipe pipe;
    const int file = pipe.device.get();
    const std::size_t before = open_ends(pipe);
    const auto after = [&](std::string text, int with) {
        result.reset();
        return error_after([=](int connection) { static_cast<void>(send_key_packet(connection, text, with)); });
    };
    const std::string mismatch = "happed-keys: a keyboard without a descriptor, or a descriptor without a keyboard";

    EXPECT_EQ(after("keyboard event1", -1), mismatch);
    EXPECT_EQ(after("end", file), mismatch);
    EXPECT_EQ(after("key KEY_PROG1", file), mismatch);
    EXPECT_EQ(after("keyboard ../mem", file), "happed-keys: keyboard: not an event node");
    EXPECT_EQ(after(std::string(100, '\0'), file), "happed-keys: not an answer of happed-keys");
    EXPECT_EQ(after(std::string(60'000, 'e'), file),
              "happed-keys: a packet that is too long or has too many descriptors");
    EXPECT_EQ(open_ends(pipe), before);
}

// Sends a valid text with `count` descriptors.
void send_with_files(int connection, int file, std::size_t count) {
    std::string text = "keyboard event1";
    iovec bytes{.iov_base = text.data(), .iov_len = text.size()};
    std::vector<std::byte> control(CMSG_SPACE(count * sizeof(int)));
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(count * sizeof(int));
    const std::vector<int> files(count, file);
    std::memcpy(CMSG_DATA(part), files.data(), count * sizeof(int));
    EXPECT_EQ(::sendmsg(connection, &message, MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

TEST_F(HelperCall, MoreDescriptorsThanOneAreClosedAndAnError) {
    const DevicePipe pipe;
    const std::size_t before = open_ends(pipe);
    for (const std::size_t count : {2U, 4U, 5U, 253U}) {
        result.reset();
        EXPECT_EQ(error_after([&](int connection) { send_with_files(connection, pipe.device.get(), count); }),
                  "happed-keys: a packet that is too long or has too many descriptors");
        EXPECT_EQ(open_ends(pipe), before) << count;
    }
}

TEST_F(HelperCall, KeyboardsWithoutEndAreAnError) {
    const DevicePipe pipe;
    ask(LearnRequest{std::chrono::milliseconds{5}});
    ASSERT_TRUE(runs_until([&] { return helper.waiting.size() == 1; }));
    const FileDescriptor connection = std::move(helper.waiting.front());

    for (std::size_t sent = 0; sent < 300 && !result; ++sent) {
        FakeHelper::says(connection.get(), FoundKeyboard{"event1"}, pipe.device.get());
        runs();
    }

    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error().message, "happed-keys: too many keyboards");
}

TEST_F(HelperCall, AHelperThatSaysNothingIsGivenUp) {
    ask(LearnRequest{std::chrono::milliseconds{5}}, std::chrono::milliseconds{20});

    ASSERT_TRUE(runs_until([&] { return result.has_value(); }));
    EXPECT_EQ(result->error().message, "happed-keys: no answer");
}

TEST_F(HelperCall, AQuestionThatIsWithdrawnClosesTheConnectionAndIsNeverAnswered) {
    ask(LearnRequest{std::chrono::milliseconds{5}});
    ASSERT_TRUE(runs_until([&] { return helper.waiting.size() == 1; }));

    call.reset();

    EXPECT_EQ(receive_key_packet(helper.waiting.front().get()).value().text, "");
    runs();
    EXPECT_FALSE(result.has_value());
}

TEST_F(HelperCall, WhereNobodyListensTheErrorNamesTheSocket) {
    const auto error_of = [&](const std::string& path) {
        const auto asked = KeyHelperCall::ask(loop.get(), path, LearnRequest{std::chrono::milliseconds{5}},
                                              std::chrono::seconds{1}, [](auto) { FAIL(); });
        return asked ? "no error" : asked.error().message;
    };
    const std::string missing = (folder / "missing").string();

    EXPECT_EQ(error_of(missing), missing + ": No such file or directory");
    EXPECT_EQ(error_of(""), ": not a path a socket can have");
    EXPECT_EQ(error_of(std::string(108, 's')), std::string(108, 's') + ": not a path a socket can have");
}

TEST_F(HelperCall, AFullQueueOfConnectionsIsAnErrorAndNoWait) {
    std::vector<Result<FileDescriptor>> connections;
    do {
        connections.push_back(connect_key_socket(helper.path.string()));
    } while (connections.back() && connections.size() < 100);

    ASSERT_FALSE(connections.back());
    EXPECT_EQ(connections.back().error().message, helper.path.string() + ": Resource temporarily unavailable");
}

}  // namespace
}  // namespace happe
