// SPDX-License-Identifier: GPL-2.0-or-later
// _NET_ACTIVE_WINDOW of the root window, which the window manager sets and the server announces.
#include "ui/agent/sources/sources.h"
#include "ui/agent/sources/x11_clients.h"
#include "ui/surfaces/socket_deadline.h"

#include <QCoreApplication>
#include <QSocketNotifier>
#include <utility>

namespace happe::ui {
namespace {

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

SourceOrError open_x11_focus(FocusSource::Events events) {
    return X11Clients::open().map([&](X11Clients clients) -> std::unique_ptr<FocusSource> {
        const SocketDeadline second(xcb_get_file_descriptor(clients.get()));
        return std::make_unique<X11Focus>(std::move(clients), std::move(events));
    });
}

}  // namespace happe::ui
