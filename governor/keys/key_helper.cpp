// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_helper.h"

#include "governor/keys/key_messages.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <cerrno>
#include <system_error>
#include <utility>

namespace happe {
namespace {

constexpr std::uint64_t kAlarmAccuracy = 100'000;  // microseconds

}  // namespace

Result<std::unique_ptr<KeyHelperCall>> KeyHelperCall::ask(sd_event* loop, const std::string& socket_path,
                                                          const KeyRequest& request, Micros time, Done done) {
    auto socket = connect_key_socket(socket_path);
    if (!socket) {
        return tl::unexpected<Error>(socket.error());
    }
    std::unique_ptr<KeyHelperCall> call(new KeyHelperCall(std::move(*socket), std::move(done)));
    const Status asked =
        send_key_packet(call->socket_.get(), to_string(request)).and_then([&] { return call->watch(loop, time); });
    if (!asked) {
        return failure(fmt::format("{}: {}", socket_path, asked.error().message));
    }
    return call;
}

Status KeyHelperCall::watch(sd_event* loop, Micros time) {
    sd_event_source* source = nullptr;
    int result = sd_event_add_io(
        loop, &source, socket_.get(), EPOLLIN,
        [](sd_event_source*, int, std::uint32_t, void* self) {
            static_cast<KeyHelperCall*>(self)->readable();
            return 0;
        },
        this);
    source_.reset(source);
    if (result >= 0) {
        source = nullptr;
        result = sd_event_add_time_relative(
            loop, &source, CLOCK_MONOTONIC, static_cast<std::uint64_t>(time.count()), kAlarmAccuracy,
            [](sd_event_source*, std::uint64_t, void* self) {
                static_cast<KeyHelperCall*>(self)->finish(failure("happed-keys: no answer"));
                return 0;
            },
            this);
        timer_.reset(source);
    }
    return result >= 0 ? Status() : Status(failure(std::generic_category().message(-result)));
}

// One packet at a time: the loop reports more.
void KeyHelperCall::readable() {
    const auto complete = receive();
    if (!complete) {
        finish(failure(fmt::format("happed-keys: {}", complete.error().message)));
    } else if (*complete) {
        finish(std::move(answers_));
    }
}

// Reads a packet. True if the answer is complete.
Result<bool> KeyHelperCall::receive() {
    auto packet = receive_key_packet(socket_.get());
    if (!packet) {
        return tl::unexpected<Error>(packet.error());
    }
    if (packet->text.empty()) {
        return failure("it ended without an answer");
    }
    const auto answer = parse_key_answer(packet->text);
    if (!answer) {
        return tl::unexpected<Error>(answer.error());
    }
    return said(*answer, std::move(packet->file));
}

Result<bool> KeyHelperCall::said(const KeyAnswer& answer, FileDescriptor file) {
    const auto* const found = std::get_if<FoundKeyboard>(&answer);
    if ((found != nullptr) != static_cast<bool>(file)) {
        return failure("a keyboard without a descriptor, or a descriptor without a keyboard");
    }
    if (found != nullptr) {
        if (answers_.keyboards.size() == kMostKeyboards) {
            return failure("too many keyboards");
        }
        answers_.keyboards.push_back({found->node, std::move(file)});
        return false;
    }
    if (const auto* const refusal = std::get_if<Refusal>(&answer)) {
        return failure(refusal->message);
    }
    if (const auto* const learned = std::get_if<LearnedKey>(&answer)) {
        answers_.learned = learned->code;
        return false;
    }
    return true;
}

// The callback may destroy this object, so all that it needs is moved out first.
void KeyHelperCall::finish(Result<KeyAnswers> answers) {
    source_.reset();
    timer_.reset();
    const Done done = std::exchange(done_, nullptr);
    done(std::move(answers));
}

}  // namespace happe
