// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <xcb/xcb.h>
#include <cstdlib>
#include <memory>
#include <string>
#include <tl/expected.hpp>

namespace happe::ui {

struct FreeXcb {
    void operator()(void* memory) const { std::free(memory); }  // NOLINT(*-no-malloc,*-owning-memory): as xcb wants it
};
template <typename T>
using XcbReply = std::unique_ptr<T, FreeXcb>;

struct DisconnectXcb {
    void operator()(xcb_connection_t* connection) const { xcb_disconnect(connection); }
};

struct X11Connection {
    std::unique_ptr<xcb_connection_t, DisconnectXcb> connection;
    int screen = 0;  // its number, from 0
};

// Connects to this machine's X server that DISPLAY names. Unlike xcb_connect() it abandons a server that accepts the
// connection and does not answer within a second.
[[nodiscard]] tl::expected<X11Connection, std::string> connect_x11();

}  // namespace happe::ui
