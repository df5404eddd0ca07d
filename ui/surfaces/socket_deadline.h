// SPDX-License-Identifier: GPL-2.0-or-later
// Ends the wait for a server that does not answer, in libraries that would wait forever.
#pragma once

#include <thread>

namespace happe::ui {

// Shuts the connected socket `file` down if this object still exists after a second. A reader then sees the end of the
// connection. The socket must outlive this object.
class SocketDeadline {
public:
    explicit SocketDeadline(int file);

private:
    std::jthread thread_;
};

}  // namespace happe::ui
