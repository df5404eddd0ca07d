// SPDX-License-Identifier: GPL-2.0-or-later
// A connection to a Unix socket of one of this user's programs.
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
    // Calls `closed` once. Neither function may destroy the socket.
    struct Events {
        std::function<void(std::string_view)> read;
        std::function<void()> closed;
    };

    // An error names the path.
    [[nodiscard]] static tl::expected<std::unique_ptr<UnixSocket>, std::string> connect(const std::string& path,
                                                                                        Events events);

    // Sends the whole message, which must be short. If that fails, the connection counts as closed.
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
