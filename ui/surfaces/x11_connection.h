// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <xcb/xcb.h>
#include <cstdint>
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

// The screen that DISPLAY names; the last one if there are not so many.
[[nodiscard]] const xcb_screen_t& screen_of(const X11Connection& opened);

[[nodiscard]] xcb_atom_t atom_of(xcb_connection_t* x, const std::string& name);
// A window's property of type STRING, at most so many words of the protocol; empty if there is none.
[[nodiscard]] std::string text_of(xcb_connection_t* x, xcb_window_t window, xcb_atom_t property, std::uint32_t most);
// The first window that a window's property names; 0 if there is none.
[[nodiscard]] xcb_window_t window_in(xcb_connection_t* x, xcb_window_t window, xcb_atom_t property);

}  // namespace happe::ui
