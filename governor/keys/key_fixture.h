// SPDX-License-Identifier: GPL-2.0-or-later
// For tests of the keys: an event loop, a folder, pipes in place of event devices, and a helper with prepared answers.
#pragma once

#include "governor/keys/key_messages.h"
#include "governor/system/event_loop_fixture.h"
#include "governor/system/file_descriptor.h"
#include "governor/system/monotonic_clock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/input.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace happe {

inline input_event event(unsigned short type, unsigned short code, int value, MonoTime at = monotonic_now()) {
    input_event made{};
    const auto since = at.time_since_epoch().count();
    made.input_event_sec = since / 1'000'000;
    made.input_event_usec = since % 1'000'000;
    made.type = type;
    made.code = code;
    made.value = value;
    return made;
}

// The reading end stands for an event device's descriptor, the writing end for the kernel.
struct DevicePipe {
    FileDescriptor device;
    FileDescriptor kernel;

    DevicePipe() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        device = FileDescriptor(ends[0]);
        kernel = FileDescriptor(ends[1]);
    }
    void has(const std::vector<input_event>& events) const {
        const auto bytes = events.size() * sizeof(input_event);
        EXPECT_EQ(::write(kernel.get(), events.data(), bytes), static_cast<ssize_t>(bytes));
    }
    void unplug() { kernel = FileDescriptor(); }
};

// Listens in place of happed-keys. Answers each question with the next of `replies`, and no question without one.
class FakeHelper {
public:
    using Reply = std::function<void(int connection)>;

    FakeHelper(sd_event* loop, std::filesystem::path at)
        : path(std::move(at)), socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.string().copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
        EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        EXPECT_EQ(::listen(socket_.get(), 4), 0);
        source_.reset(watched(loop, socket_.get()));
    }

    static void says(int connection, const KeyAnswer& answer, int file = -1) {
        static_cast<void>(send_key_packet(connection, to_string(answer), file));
    }
    static Reply keyboards(std::vector<std::pair<std::string, int>> found) {
        return [found](int connection) {
            for (const auto& [node, file] : found) {
                says(connection, FoundKeyboard{node}, file);
            }
            says(connection, EndOfAnswer{});
        };
    }

    std::filesystem::path path;
    std::deque<Reply> replies;
    std::vector<std::string> asked;
    std::vector<FileDescriptor> waiting;  // connections without an answer

private:
    sd_event_source* watched(sd_event* loop, int file) {
        sd_event_source* source = nullptr;
        const auto ready = [](sd_event_source*, int, std::uint32_t, void* self) {
            static_cast<FakeHelper*>(self)->accepts();
            return 0;
        };
        EXPECT_GE(sd_event_add_io(loop, &source, file, EPOLLIN, ready, this), 0);
        return source;
    }
    void accepts() {
        FileDescriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        asked.push_back(receive_key_packet(connection.get()).value().text);  // the client sends it as it connects
        if (replies.empty()) {
            waiting.push_back(std::move(connection));
            return;
        }
        const Reply reply = std::move(replies.front());
        replies.pop_front();
        reply(connection.get());
    }

    FileDescriptor socket_;
    EventSource source_;
};

}  // namespace happe
