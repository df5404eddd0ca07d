// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/x11_clients.h"

#include "ui/surfaces/socket_deadline.h"

#include <xcb/res.h>
#include <cstdint>
#include <cstring>
#include <utility>

namespace happe::ui {
namespace {

constexpr std::uint32_t kMostClass = 256;  // in words of the protocol

using Property = XcbReply<xcb_get_property_reply_t>;

Property property_of(xcb_connection_t* x, xcb_window_t window, xcb_atom_t property, xcb_atom_t type,
                     std::uint32_t most) {
    return Property(xcb_get_property_reply(x, xcb_get_property(x, 0, window, property, type, 0, most), nullptr));
}

std::string_view bytes_of(const Property& property) {
    return property ? std::string_view(static_cast<const char*>(xcb_get_property_value(property.get())),
                                       static_cast<std::size_t>(xcb_get_property_value_length(property.get())))
                    : std::string_view();
}

}  // namespace

QString class_in(std::string_view wm_class) {
    const std::size_t begin = wm_class.find('\0');
    if (begin == std::string_view::npos) {
        return {};
    }
    const std::string_view rest = wm_class.substr(begin + 1);
    return QString::fromUtf8(QByteArrayView(rest.substr(0, rest.find('\0'))));
}

std::optional<Focus> checked(const ReportedWindow& told) {
    if (told.x11_window == 0) {
        return told.focus;
    }
    const auto clients = X11Clients::open();
    if (!clients) {
        return std::nullopt;
    }
    const SocketDeadline second(xcb_get_file_descriptor(clients->get()));
    const auto pid = clients->pid(told.x11_window);
    return pid ? std::optional(Focus{.pid = *pid, .id = told.focus.id}) : std::nullopt;
}

tl::expected<X11Clients, std::string> X11Clients::open() {
    auto opened = connect_x11();
    if (!opened) {
        return tl::unexpected(std::move(opened).error());
    }
    X11Clients clients;
    clients.connection_ = std::move(opened->connection);
    const SocketDeadline second(xcb_get_file_descriptor(clients.get()));
    auto screen = xcb_setup_roots_iterator(xcb_get_setup(clients.get()));
    for (int number = opened->screen; number > 0 && screen.rem > 1; --number) {
        xcb_screen_next(&screen);
    }
    clients.root_ = screen.data->root;
    const bool present = xcb_get_extension_data(clients.get(), &xcb_res_id)->present != 0;
    const XcbReply<xcb_res_query_version_reply_t> version(
        present ? xcb_res_query_version_reply(clients.get(), xcb_res_query_version(clients.get(), 1, 2), nullptr)
                : nullptr);
    if (!version || version->server_major != 1 || version->server_minor < 2) {
        return tl::unexpected<std::string>("the X server cannot name the owner of a window: it lacks XRes 1.2");
    }
    return clients;
}

xcb_atom_t X11Clients::atom(const std::string& name) const {
    const XcbReply<xcb_intern_atom_reply_t> reply(xcb_intern_atom_reply(
        get(), xcb_intern_atom(get(), 0, static_cast<std::uint16_t>(name.size()), name.c_str()), nullptr));
    return reply ? reply->atom : xcb_atom_t{XCB_ATOM_NONE};
}

xcb_window_t X11Clients::window_in(xcb_window_t window, xcb_atom_t property) const {
    const Property value = property_of(get(), window, property, XCB_ATOM_WINDOW, 1);
    const std::string_view bytes = bytes_of(value);
    xcb_window_t named = XCB_WINDOW_NONE;
    if (value && value->format == 32 && bytes.size() >= sizeof named) {
        std::memcpy(&named, bytes.data(), sizeof named);
    }
    return named;
}

bool X11Clients::viewable(xcb_window_t window) const {
    const XcbReply<xcb_get_window_attributes_reply_t> reply(
        xcb_get_window_attributes_reply(get(), xcb_get_window_attributes(get(), window), nullptr));
    return reply && reply->map_state == XCB_MAP_STATE_VIEWABLE;
}

std::optional<pid_t> X11Clients::pid(xcb_window_t window) const {
    const xcb_res_client_id_spec_t wanted{window, XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID};
    const XcbReply<xcb_res_query_client_ids_reply_t> reply(
        xcb_res_query_client_ids_reply(get(), xcb_res_query_client_ids(get(), 1, &wanted), nullptr));
    if (!reply) {
        return std::nullopt;
    }
    for (auto it = xcb_res_query_client_ids_ids_iterator(reply.get()); it.rem > 0; xcb_res_client_id_value_next(&it)) {
        if ((it.data->spec.mask & XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID) != 0 &&
            xcb_res_client_id_value_value_length(it.data) > 0) {
            const std::uint32_t pid = *xcb_res_client_id_value_value(it.data);
            return pid > 0 && pid <= INT32_MAX ? std::optional(static_cast<pid_t>(pid)) : std::nullopt;
        }
    }
    return std::nullopt;
}

QString X11Clients::name(xcb_window_t window) const {
    return class_in(bytes_of(property_of(get(), window, XCB_ATOM_WM_CLASS, XCB_ATOM_STRING, kMostClass)));
}

}  // namespace happe::ui
