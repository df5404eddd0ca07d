// SPDX-License-Identifier: GPL-2.0-or-later
// wlr-foreign-toplevel-management lists a compositor's windows with their app ids, without pids. One of them is
// activated.
#include "ui/agent/sources/sources.h"
#include "ui/surfaces/socket_deadline.h"

#include <wayland-client.h>
#include <wlr-foreign-toplevel-management-unstable-v1-client-protocol.h>
#include <QCoreApplication>
#include <QSocketNotifier>
#include <algorithm>
#include <list>
#include <utility>

namespace happe::ui {
namespace {

using Display = wl_display;
using Manager = zwlr_foreign_toplevel_manager_v1;
using Handle = zwlr_foreign_toplevel_handle_v1;

struct Destroy {
    void operator()(Display* object) const { wl_display_disconnect(object); }
    void operator()(wl_registry* object) const { wl_registry_destroy(object); }
    void operator()(Manager* object) const { zwlr_foreign_toplevel_manager_v1_destroy(object); }
    void operator()(Handle* object) const { zwlr_foreign_toplevel_handle_v1_destroy(object); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Destroy>;

struct Window {
    Owned<Handle> handle;
    QString id;
    bool activated = false;
};

class ToplevelFocus final : public FocusSource {  // stays where it is: the protocol's listeners have its address
public:
    explicit ToplevelFocus(Events events) : events_(std::move(events)) {}

    // An error says why this source cannot work.
    [[nodiscard]] std::string open() {
        display_.reset(wl_display_connect(nullptr));
        if (!display_) {
            return "no Wayland compositor answers where WAYLAND_DISPLAY says";
        }
        const SocketDeadline second(wl_display_get_fd(display_.get()));
        registry_.reset(wl_display_get_registry(display_.get()));
        wl_registry_add_listener(registry_.get(), &kRegistry, this);
        // The first round trip brings the globals, the second one the windows.
        if (wl_display_roundtrip(display_.get()) < 0 || !manager_ || wl_display_roundtrip(display_.get()) < 0) {
            return "this Wayland compositor does not say which window is in front: it lacks "
                   "wlr-foreign-toplevel-management";
        }
        readable_.emplace(wl_display_get_fd(display_.get()), QSocketNotifier::Read);
        QObject::connect(&*readable_, &QSocketNotifier::activated, [this] { read(); });
        started_ = true;
        return {};
    }

    [[nodiscard]] FocusBy by() const override { return FocusBy::Toplevel; }
    [[nodiscard]] QString name() const override { return QStringLiteral("wlr-foreign-toplevel"); }
    [[nodiscard]] QString trouble() const override {
        return QStringLiteral(
            "This compositor does not name the owner of a window. happe-indicator looks for the process by its name.");
    }

    void ask() override {
        const auto found = std::ranges::find(windows_, true, &Window::activated);
        events_.answered(found != windows_.end() ? std::optional(Focus{.pid = 0, .id = found->id}) : std::nullopt);
    }

private:
    static ToplevelFocus& self(void* data) { return *static_cast<ToplevelFocus*>(data); }

    void bind(std::uint32_t global, const std::string& interface) {
        if (interface == zwlr_foreign_toplevel_manager_v1_interface.name) {
            manager_.reset(static_cast<Manager*>(
                wl_registry_bind(registry_.get(), global, &zwlr_foreign_toplevel_manager_v1_interface, 1)));
            zwlr_foreign_toplevel_manager_v1_add_listener(manager_.get(), &kManager, this);
        }
    }

    void add(Handle* handle) {
        windows_.push_back({.handle = Owned<Handle>(handle)});
        zwlr_foreign_toplevel_handle_v1_add_listener(handle, &kHandle, this);
    }

    Window& window(Handle* handle) {
        return *std::ranges::find(windows_, handle, [](const Window& known) { return known.handle.get(); });
    }

    void closed(Handle* handle) {
        windows_.remove_if([&](const Window& known) { return known.handle.get() == handle; });
        changed();
    }

    void changed() const {
        if (started_) {
            events_.changed();
        }
    }

    void read() {
        while (wl_display_prepare_read(display_.get()) != 0) {
            wl_display_dispatch_pending(display_.get());
        }
        wl_display_read_events(display_.get());
        wl_display_dispatch_pending(display_.get());
        wl_display_flush(display_.get());
        if (wl_display_get_error(display_.get()) != 0) {
            lose();
        }
    }

    void lose() {
        if (readable_ && readable_->isEnabled()) {
            readable_->setEnabled(false);
            events_.lost("the Wayland compositor is gone");
        }
    }

    static const wl_registry_listener kRegistry;
    static const zwlr_foreign_toplevel_manager_v1_listener kManager;
    static const zwlr_foreign_toplevel_handle_v1_listener kHandle;

    // C++ destroys the last member first, and these need that order.
    Events events_;
    Owned<Display> display_;
    Owned<wl_registry> registry_;
    Owned<Manager> manager_;
    std::list<Window> windows_;
    std::optional<QSocketNotifier> readable_;
    bool started_ = false;
};

const wl_registry_listener ToplevelFocus::kRegistry{
    .global = [](void* data, wl_registry*, std::uint32_t global, const char* interface,
                 std::uint32_t) { self(data).bind(global, interface); },
    .global_remove = [](void*, wl_registry*, std::uint32_t) {},
};

const zwlr_foreign_toplevel_manager_v1_listener ToplevelFocus::kManager{
    .toplevel = [](void* data, Manager*, Handle* handle) { self(data).add(handle); },
    .finished = [](void* data, Manager*) { self(data).lose(); },
};

const zwlr_foreign_toplevel_handle_v1_listener ToplevelFocus::kHandle{
    .title = [](void*, Handle*, const char*) {},
    .app_id = [](void* data, Handle* handle, const char* id) { self(data).window(handle).id = QString::fromUtf8(id); },
    .output_enter = [](void*, Handle*, wl_output*) {},
    .output_leave = [](void*, Handle*, wl_output*) {},
    .state =
        [](void* data, Handle* handle, wl_array* states) {
            const auto* const first = static_cast<const std::uint32_t*>(states->data);
            const auto* const end = first + states->size / sizeof *first;
            self(data).window(handle).activated =
                std::find(first, end, std::uint32_t{ZWLR_FOREIGN_TOPLEVEL_HANDLE_V1_STATE_ACTIVATED}) != end;
        },
    .done = [](void* data, Handle*) { self(data).changed(); },
    .closed = [](void* data, Handle* handle) { self(data).closed(handle); },
    .parent = [](void*, Handle*, Handle*) {},
};

}  // namespace

SourceOrError open_toplevel_focus(FocusSource::Events events) {
    auto source = std::make_unique<ToplevelFocus>(std::move(events));
    if (const std::string error = source->open(); !error.empty()) {
        return tl::unexpected(error);
    }
    return source;
}

}  // namespace happe::ui
