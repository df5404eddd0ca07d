// SPDX-License-Identifier: GPL-2.0-or-later
// An end to waiting for a server that does not answer, in libraries that would wait without end.
#pragma once

#include <thread>

namespace happe::ui {

// Shuts the connected socket `file` down if this object is still there after a second. Whoever waits for an answer then
// reads the connection's end. The socket must outlive this object.
class SocketDeadline {
public:
    explicit SocketDeadline(int file);

private:
    std::jthread thread_;
};

}  // namespace happe::ui
