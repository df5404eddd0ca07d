// SPDX-License-Identifier: GPL-2.0-or-later
// _NET_ACTIVE_WINDOW of the root window, which the window manager sets and the server announces.
#include "ui/agent/sources/sources.h"
#include "ui/surfaces/socket_deadline.h"
#include "ui/surfaces/x11_connection.h"

#include <xcb/res.h>
#include <QCoreApplication>
#include <QSocketNotifier>
#include <cstdint>
#include <memory>
#include <utility>

namespace happe::ui {
namespace {

constexpr std::uint32_t kMostClass = 256;  // in words of the protocol

// Finds the process of an X11 window. Trusts the X server (its extension XRes), not the client's own _NET_WM_PID, which
// may be wrong, or belong to another PID namespace.
class X11Clients {
public:
    // Connects to the server that DISPLAY names. It must have XRes 1.2, as all do since 2012.
    [[nodiscard]] static tl::expected<X11Clients, std::string> open();

    [[nodiscard]] xcb_connection_t* get() const { return connection_.get(); }
    [[nodiscard]] xcb_window_t root() const { return root_; }
    [[nodiscard]] bool lost() const { return xcb_connection_has_error(get()) != 0; }
    [[nodiscard]] bool viewable(xcb_window_t window) const;
    // The process of a window; none if there is no such window, or its client is on another machine.
    [[nodiscard]] std::optional<pid_t> pid(xcb_window_t window) const;
    // The class in its WM_CLASS.
    [[nodiscard]] QString name(xcb_window_t window) const;

private:
    X11Clients() = default;

    std::unique_ptr<xcb_connection_t, DisconnectXcb> connection_;
    xcb_window_t root_ = XCB_WINDOW_NONE;
};

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

class X11Focus final : public FocusSource {
public:
    X11Focus(X11Clients clients, Events events)
        : clients_(std::move(clients)),
          events_(std::move(events)),
          readable_(xcb_get_file_descriptor(clients_.get()), QSocketNotifier::Read),
          active_(atom_of(clients_.get(), "_NET_ACTIVE_WINDOW")),
          manager_(atom_of(clients_.get(), "_NET_SUPPORTING_WM_CHECK")) {
        const std::uint32_t wanted = XCB_EVENT_MASK_PROPERTY_CHANGE;
        xcb_change_window_attributes(clients_.get(), clients_.root(), XCB_CW_EVENT_MASK, &wanted);
        xcb_flush(clients_.get());
        QObject::connect(&readable_, &QSocketNotifier::activated, [this] { read(); });
    }

    [[nodiscard]] FocusBy by() const override { return FocusBy::X11; }
    [[nodiscard]] QString name() const override { return QStringLiteral("X11"); }

    [[nodiscard]] QString trouble() const override {
        if (!qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY")) {
            return QStringLiteral("happe-indicator sees only programs that use XWayland.");
        }
        // A window manager that has gone may have left its property. A live one's window also names itself.
        const xcb_window_t window = window_in(clients_.get(), clients_.root(), manager_);
        return window != XCB_WINDOW_NONE && window_in(clients_.get(), window, manager_) == window
                   ? QString()
                   : QStringLiteral("No window manager reports the active window (_NET_ACTIVE_WINDOW).");
    }

    void ask() override {
        events_.answered(front());
        read();  // reads events that came with the answers, or notices that the server has ended
    }

private:
    [[nodiscard]] std::optional<Focus> front() {
        const SocketDeadline second(xcb_get_file_descriptor(clients_.get()));
        std::optional<Focus> found;
        const xcb_window_t window = window_in(clients_.get(), clients_.root(), active_);
        // Not the root: it belongs to no program, and watch() must not replace the event mask that we set on it.
        if (window != XCB_WINDOW_NONE && window != clients_.root()) {
            watch(window);
            const auto pid = clients_.viewable(window) ? clients_.pid(window) : std::nullopt;
            found = pid ? std::optional(Focus{.pid = *pid, .id = clients_.name(window)}) : std::nullopt;
        }
        return found;
    }

    // Window managers do not always report that the last window has gone or become an icon.
    void watch(xcb_window_t window) {
        const std::uint32_t nothing = XCB_EVENT_MASK_NO_EVENT;
        const std::uint32_t comes_and_goes = XCB_EVENT_MASK_STRUCTURE_NOTIFY;
        if (const xcb_window_t before = std::exchange(watched_, window); before != window) {
            if (before != XCB_WINDOW_NONE) {
                xcb_change_window_attributes(clients_.get(), before, XCB_CW_EVENT_MASK, &nothing);
            }
            xcb_change_window_attributes(clients_.get(), window, XCB_CW_EVENT_MASK, &comes_and_goes);
        }
    }

    [[nodiscard]] bool moves_focus(const xcb_generic_event_t& event) const {
        switch (event.response_type & 0x7F) {
            case XCB_PROPERTY_NOTIFY:
                // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): xcb's way
                return reinterpret_cast<const xcb_property_notify_event_t&>(event).atom == active_;
            case XCB_DESTROY_NOTIFY:
            case XCB_MAP_NOTIFY:
            case XCB_UNMAP_NOTIFY:
                return true;
            default:
                return false;
        }
    }

    void read() {
        bool moved = false;
        while (const XcbReply<xcb_generic_event_t> event{xcb_poll_for_event(clients_.get())}) {
            moved |= moves_focus(*event);
        }
        if (clients_.lost()) {
            if (readable_.isEnabled()) {
                readable_.setEnabled(false);
                events_.lost("the X server is gone");
            }
        } else if (moved) {
            events_.changed();
        }
    }

    X11Clients clients_;
    Events events_;
    QSocketNotifier readable_;
    xcb_atom_t active_;
    xcb_window_t watched_ = XCB_WINDOW_NONE;
    xcb_atom_t manager_;
};

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

SourceOrError open_x11_focus(FocusSource::Events events) {
    return X11Clients::open().map([&](X11Clients clients) -> std::unique_ptr<FocusSource> {
        const SocketDeadline second(xcb_get_file_descriptor(clients.get()));
        return std::make_unique<X11Focus>(std::move(clients), std::move(events));
    });
}

}  // namespace happe::ui
