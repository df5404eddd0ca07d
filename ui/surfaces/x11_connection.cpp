// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/surfaces/x11_connection.h"

#include "ui/surfaces/socket_deadline.h"

#include <X11/Xauth.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace happe::ui {
namespace {

struct DisposeXau {
    void operator()(Xauth* cookie) const { XauDisposeAuth(cookie); }
};

// Connects to an X server by this name, as a file or as an abstract name with a NUL before it. -1: none answers.
int connect_to(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(&address.sun_path[0], sizeof address.sun_path - 1);
    const auto length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '/' ? 1 : 0));
    const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the C interface
    if (file >= 0 && ::connect(file, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
        ::close(file);
        return -1;
    }
    return file;
}

int connect_to_display(int number) {
    const std::string name = "/tmp/.X11-unix/X" + std::to_string(number);
    const int file = connect_to(std::string(1, '\0') + name);
    return file >= 0 ? file : connect_to(name);
}

// The user's cookie for this display; none if there is no XAUTHORITY with one.
std::unique_ptr<Xauth, DisposeXau> cookie_for(int number) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string host_name(host.data());
    const std::string display = std::to_string(number);
    std::string kind = "MIT-MAGIC-COOKIE-1";
    char* kinds = kind.data();
    const int length = static_cast<int>(kind.size());
    return std::unique_ptr<Xauth, DisposeXau>(
        XauGetBestAuthByAddr(FamilyLocal, static_cast<std::uint16_t>(host_name.size()), host_name.c_str(),
                             static_cast<std::uint16_t>(display.size()), display.c_str(), 1, &kinds, &length));
}

using Property = XcbReply<xcb_get_property_reply_t>;

Property property_of(xcb_connection_t* x, xcb_window_t window, xcb_atom_t property, xcb_atom_t type,
                     std::uint32_t most) {
    return Property(xcb_get_property_reply(x, xcb_get_property(x, 0, window, property, type, 0, most), nullptr));
}

}  // namespace

tl::expected<X11Connection, std::string> connect_x11() {
    char* host = nullptr;
    int number = 0;
    X11Connection opened;
    const bool named = xcb_parse_display(nullptr, &host, &number, &opened.screen) != 0;
    const std::string machine = named ? host : "";
    std::free(host);  // NOLINT(*-no-malloc,*-owning-memory): as xcb wants it
    if (!machine.empty() && machine != "unix") {
        return tl::unexpected("DISPLAY names an X server on another machine, " + machine);
    }
    const int file = named ? connect_to_display(number) : -1;
    if (file >= 0) {
        const SocketDeadline second(file);
        const auto cookie = cookie_for(number);
        xcb_auth_info_t as_xcb{};
        if (cookie) {
            as_xcb = {cookie->name_length, cookie->name, cookie->data_length, cookie->data};
        }
        opened.connection.reset(xcb_connect_to_fd(file, cookie ? &as_xcb : nullptr));
    }
    if (!opened.connection || xcb_connection_has_error(opened.connection.get()) != 0) {
        return tl::unexpected<std::string>("no X server answers where DISPLAY says");
    }
    return opened;
}

const xcb_screen_t& screen_of(const X11Connection& opened) {
    auto screen = xcb_setup_roots_iterator(xcb_get_setup(opened.connection.get()));
    for (int number = opened.screen; number > 0 && screen.rem > 1; --number) {
        xcb_screen_next(&screen);
    }
    return *screen.data;
}

xcb_atom_t atom_of(xcb_connection_t* x, const std::string& name) {
    const XcbReply<xcb_intern_atom_reply_t> reply(xcb_intern_atom_reply(
        x, xcb_intern_atom(x, 0, static_cast<std::uint16_t>(name.size()), name.c_str()), nullptr));
    return reply ? reply->atom : xcb_atom_t{XCB_ATOM_NONE};
}

std::string text_of(xcb_connection_t* x, xcb_window_t window, xcb_atom_t property, std::uint32_t most) {
    const Property value = property_of(x, window, property, XCB_ATOM_STRING, most);
    return value ? std::string(static_cast<const char*>(xcb_get_property_value(value.get())),
                               static_cast<std::size_t>(xcb_get_property_value_length(value.get())))
                 : std::string();
}

xcb_window_t window_in(xcb_connection_t* x, xcb_window_t window, xcb_atom_t property) {
    const Property value = property_of(x, window, property, XCB_ATOM_WINDOW, 1);
    xcb_window_t named = XCB_WINDOW_NONE;
    if (value && value->format == 32 && xcb_get_property_value_length(value.get()) >= int{sizeof named}) {
        std::memcpy(&named, xcb_get_property_value(value.get()), sizeof named);
    }
    return named;
}

}  // namespace happe::ui
