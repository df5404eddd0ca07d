// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/laptop/x11_desktop.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace happe::study {
namespace {

constexpr xcb_keysym_t kQ = 0x71;
constexpr unsigned kChord = XCB_MOD_MASK_CONTROL | XCB_MOD_MASK_1 | XCB_MOD_MASK_SHIFT;

// The key that types q; 0: there is none.
xcb_keycode_t key_of_q(xcb_connection_t* connection) {
    const xcb_setup_t& setup = *xcb_get_setup(connection);
    const auto count = static_cast<std::uint8_t>(setup.max_keycode - setup.min_keycode + 1);
    const auto question = xcb_get_keyboard_mapping(connection, setup.min_keycode, count);
    const ui::XcbReply<xcb_get_keyboard_mapping_reply_t> reply(
        xcb_get_keyboard_mapping_reply(connection, question, nullptr));
    if (!reply) {
        return 0;
    }
    const xcb_keysym_t* const symbols = xcb_get_keyboard_mapping_keysyms(reply.get());
    for (int i = 0; i < count; ++i) {
        if (symbols[std::ptrdiff_t{i} * reply->keysyms_per_keycode] == kQ) {
            return static_cast<xcb_keycode_t>(setup.min_keycode + i);
        }
    }
    return 0;
}

// Grabs the keys, with the locks on or off.
void grab(xcb_connection_t* connection, xcb_keycode_t key) {
    const xcb_window_t root = xcb_setup_roots_iterator(xcb_get_setup(connection)).data->root;
    for (const unsigned locks : {0U, unsigned{XCB_MOD_MASK_LOCK}, unsigned{XCB_MOD_MASK_2},
                                 unsigned{XCB_MOD_MASK_LOCK} | unsigned{XCB_MOD_MASK_2}}) {
        xcb_grab_key(connection, 1, root, static_cast<std::uint16_t>(kChord | locks), key, XCB_GRAB_MODE_ASYNC,
                     XCB_GRAB_MODE_ASYNC);
    }
    xcb_flush(connection);
}

}  // namespace

X11Desktop::X11Desktop() {
    auto opened = ui::connect_x11();
    if (!opened) {
        return;
    }
    connection_ = std::move(opened->connection);
    active_window_ = ui::atom_of(connection_.get(), "_NET_ACTIVE_WINDOW");
    if (const xcb_keycode_t key = key_of_q(connection_.get()); key != 0) {
        grab(connection_.get(), key);
        readable_.emplace(xcb_get_file_descriptor(connection_.get()), QSocketNotifier::Read);
        connect(&*readable_, &QSocketNotifier::activated, this, &X11Desktop::read);
    }
}

// Sends _NET_ACTIVE_WINDOW of the Extended Window Manager Hints as pagers do: window managers accept it from source 2.
void X11Desktop::bring_forward(quintptr window) const {
    if (active_window_ == XCB_ATOM_NONE) {
        return;
    }
    constexpr std::uint32_t kPager = 2;
    const xcb_window_t root = xcb_setup_roots_iterator(xcb_get_setup(connection_.get())).data->root;
    xcb_client_message_event_t message{};
    message.response_type = XCB_CLIENT_MESSAGE;
    message.format = 32;
    message.window = static_cast<xcb_window_t>(window);
    message.type = active_window_;
    message.data.data32[0] = kPager;
    std::array<char, sizeof message> bytes{};
    std::memcpy(bytes.data(), &message, sizeof message);
    xcb_send_event(connection_.get(), 0, root,
                   XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY | XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT, bytes.data());
    xcb_flush(connection_.get());
}

void X11Desktop::read() {
    while (const ui::XcbReply<xcb_generic_event_t> event{xcb_poll_for_event(connection_.get())}) {
        if ((event->response_type & 0x7FU) == XCB_KEY_PRESS) {
            emit pressed();
        }
    }
    if (xcb_connection_has_error(connection_.get()) != 0) {
        readable_->setEnabled(false);
    }
}

}  // namespace happe::study
