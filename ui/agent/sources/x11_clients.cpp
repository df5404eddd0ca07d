// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/x11_clients.h"

#include "ui/surfaces/socket_deadline.h"

#include <xcb/res.h>
#include <cstdint>
#include <utility>

namespace happe::ui {
namespace {

constexpr std::uint32_t kMostClass = 256;  // in words of the protocol

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
    clients.root_ = screen_of(*opened).root;
    clients.connection_ = std::move(opened->connection);
    const SocketDeadline second(xcb_get_file_descriptor(clients.get()));
    const bool present = xcb_get_extension_data(clients.get(), &xcb_res_id)->present != 0;
    const XcbReply<xcb_res_query_version_reply_t> version(
        present ? xcb_res_query_version_reply(clients.get(), xcb_res_query_version(clients.get(), 1, 2), nullptr)
                : nullptr);
    if (!version || version->server_major != 1 || version->server_minor < 2) {
        return tl::unexpected<std::string>("the X server cannot name the owner of a window: it lacks XRes 1.2");
    }
    return clients;
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
    return class_in(text_of(get(), window, XCB_ATOM_WM_CLASS, kMostClass));
}

}  // namespace happe::ui
