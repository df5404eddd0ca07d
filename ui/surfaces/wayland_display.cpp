// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/surfaces/wayland_display.h"

#include "ui/surfaces/socket_deadline.h"

#include <algorithm>
#include <utility>

namespace happe::ui {
namespace {

WaylandDisplay& self(void* data) {
    return *static_cast<WaylandDisplay*>(data);
}

}  // namespace

const wl_registry_listener WaylandDisplay::kRegistry{
    .global = [](void* data, wl_registry*, std::uint32_t global, const char* interface,
                 std::uint32_t version) { self(data).bind(global, interface, version); },
    .global_remove = [](void* data, wl_registry*, std::uint32_t global) { self(data).remove(global); },
};

const wl_output_listener WaylandDisplay::kOutput{
    .geometry = [](void*, wl_output*, int, int, int, int, int, const char*, const char*, int) {},
    .mode = [](void*, wl_output*, std::uint32_t, int, int, int) {},
    .done = [](void* data, wl_output*) { self(data).tell_outputs(); },
    .scale =
        [](void* data, wl_output* output, int scale) {
            if (WaylandOutput* const known = self(data).find(output)) {
                known->scale = std::max(1, scale);
            }
        },
    .name =
        [](void* data, wl_output* output, const char* name) {
            if (WaylandOutput* const known = self(data).find(output)) {
                known->name = QString::fromUtf8(name);
            }
        },
    .description = [](void*, wl_output*, const char*) {},
};

tl::expected<std::unique_ptr<WaylandDisplay>, NoSurface> WaylandDisplay::open(Events events) {
    wl_display* const connected = wl_display_connect(nullptr);
    if (connected == nullptr) {
        return tl::unexpected(NoSurface{.why = "no Wayland compositor answers where WAYLAND_DISPLAY says"});
    }
    std::unique_ptr<WaylandDisplay> display(new WaylandDisplay(connected, std::move(events)));
    if (auto nothing = display->start()) {
        return tl::unexpected(*std::move(nothing));
    }
    return display;
}

WaylandDisplay::WaylandDisplay(wl_display* display, Events events) : display_(display), events_(std::move(events)) {}

std::optional<NoSurface> WaylandDisplay::start() {
    const SocketDeadline second(wl_display_get_fd(display_.get()));
    registry_.reset(wl_display_get_registry(display_.get()));
    wl_registry_add_listener(registry_.get(), &kRegistry, this);
    // The first round trip brings the globals, the second one the outputs' properties.
    if (wl_display_roundtrip(display_.get()) < 0 || wl_display_roundtrip(display_.get()) < 0) {
        return NoSurface{.why = "the Wayland compositor does not answer", .soon = true};
    }
    if (!compositor_ || !shm_ || !layers_) {
        return NoSurface{.why =
                             "this Wayland compositor has no wlr-layer-shell, so nothing can be shown above windows"};
    }
    readable_.emplace(wl_display_get_fd(display_.get()), QSocketNotifier::Read);
    QObject::connect(&*readable_, &QSocketNotifier::activated, [this] { read(); });
    started_ = true;
    return std::nullopt;
}

void WaylandDisplay::bind(std::uint32_t global, const std::string& interface, std::uint32_t version) {
    const auto as = [&](const wl_interface& type, std::uint32_t most) {
        return wl_registry_bind(registry_.get(), global, &type, std::min(version, most));
    };
    if (interface == wl_compositor_interface.name) {
        compositor_.reset(static_cast<wl_compositor*>(as(wl_compositor_interface, 4)));
    } else if (interface == wl_shm_interface.name) {
        shm_.reset(static_cast<wl_shm*>(as(wl_shm_interface, 1)));
    } else if (interface == zwlr_layer_shell_v1_interface.name) {
        layers_.reset(static_cast<zwlr_layer_shell_v1*>(as(zwlr_layer_shell_v1_interface, 3)));
    } else if (interface == wl_output_interface.name) {
        WaylandOutput& output = outputs_.emplace_back();
        output.global = global;
        output.output.reset(static_cast<wl_output*>(as(wl_output_interface, 4)));
        wl_output_add_listener(output.output.get(), &kOutput, this);
    }
}

void WaylandDisplay::remove(std::uint32_t global) {
    if (outputs_.remove_if([&](const WaylandOutput& output) { return output.global == global; }) > 0) {
        tell_outputs();
    }
}

WaylandOutput* WaylandDisplay::find(const wl_output* output) {
    const auto found = std::ranges::find_if(outputs_, [&](const auto& known) { return known.output.get() == output; });
    return found != outputs_.end() ? &*found : nullptr;
}

const WaylandOutput* WaylandDisplay::output(const QString& name) const {
    const auto found = std::ranges::find(outputs_, name, &WaylandOutput::name);
    if (found != outputs_.end()) {
        return &*found;
    }
    return outputs_.empty() ? nullptr : &outputs_.front();
}

const WaylandOutput* WaylandDisplay::output(std::uint32_t global) const {
    const auto found = std::ranges::find(outputs_, global, &WaylandOutput::global);
    return found != outputs_.end() ? &*found : nullptr;
}

void WaylandDisplay::tell_outputs() const {
    if (started_) {
        events_.outputs_changed();
    }
}

void WaylandDisplay::flush() {
    wl_display_flush(display_.get());
}

void WaylandDisplay::read() {
    while (wl_display_prepare_read(display_.get()) != 0) {
        wl_display_dispatch_pending(display_.get());
    }
    wl_display_read_events(display_.get());
    wl_display_dispatch_pending(display_.get());
    flush();
    if (wl_display_get_error(display_.get()) != 0) {
        readable_->setEnabled(false);
        events_.lost();
    }
}

}  // namespace happe::ui
