// SPDX-License-Identifier: GPL-2.0-or-later
// A connection to a program of this user's, by its socket's path.
#pragma once

#include "ui/agent/descriptor.h"

#include <QSocketNotifier>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace happe::ui {

class UnixSocket {
public:
    // `closed` is called once; none of the two may destroy the socket.
    struct Events {
        std::function<void(std::string_view)> read;
        std::function<void()> closed;
    };

    // An error names the path.
    [[nodiscard]] static tl::expected<std::unique_ptr<UnixSocket>, std::string> connect(const std::string& path,
                                                                                        Events events);

    // Sends the whole message, or counts the connection as closed. Messages are short.
    void write(std::string_view text);

private:
    UnixSocket(Descriptor socket, Events events);
    void read();
    void close();

    Descriptor socket_;
    Events events_;
    QSocketNotifier readable_;
};

}  // namespace happe::ui
