// SPDX-License-Identifier: GPL-2.0-or-later
// A question to happed-keys, and its answer.
#pragma once

#include "governor/core/units.h"
#include "governor/keys/key_messages.h"
#include "governor/system/event_loop.h"
#include "governor/system/file_descriptor.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace happe {

struct HandedKeyboard {
    std::string node;
    FileDescriptor file;
};

struct KeyAnswers {
    std::vector<HandedKeyboard> keyboards;
    std::optional<KeyCode> learned;
};

// A question without an answer yet. Destroying it cancels the question: the helper ends, and nobody calls `done`.
class KeyHelperCall {
public:
    static constexpr std::size_t kMostKeyboards = 256;

    // The event loop calls this once. It may destroy the call.
    using Done = std::function<void(Result<KeyAnswers>)>;

    // Never waits. An error if it cannot reach the helper. done() gets an error if the helper does not answer in time.
    static Result<std::unique_ptr<KeyHelperCall>> ask(sd_event* loop, const std::string& socket_path,
                                                      const KeyRequest& request, Micros time, Done done);

private:
    KeyHelperCall(FileDescriptor socket, Done done) : socket_(std::move(socket)), done_(std::move(done)) {}

    Status watch(sd_event* loop, Micros time);
    void readable();
    [[nodiscard]] Result<bool> receive();
    [[nodiscard]] Result<bool> said(const KeyAnswer& answer, FileDescriptor file);
    void finish(Result<KeyAnswers> answers);

    FileDescriptor socket_;
    Done done_;
    KeyAnswers answers_;
    EventSource source_;
    EventSource timer_;
};

}  // namespace happe
