// SPDX-License-Identifier: GPL-2.0-or-later
// A connection to a Wayland compositor: its outputs, and the globals that the overlay uses.
#pragma once

#include "ui/surfaces/surface.h"

#include <wayland-client.h>
#include <wlr-layer-shell-unstable-v1-client-protocol.h>
#include <QSocketNotifier>
#include <QString>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace happe::ui {

// Destroys the protocol's objects.
struct DestroyWayland {
    void operator()(wl_display* object) const { wl_display_disconnect(object); }
    void operator()(wl_registry* object) const { wl_registry_destroy(object); }
    void operator()(wl_compositor* object) const { wl_compositor_destroy(object); }
    void operator()(wl_shm* object) const { wl_shm_destroy(object); }
    void operator()(wl_output* object) const { wl_output_destroy(object); }
    void operator()(wl_region* object) const { wl_region_destroy(object); }
    void operator()(wl_surface* object) const { wl_surface_destroy(object); }
    void operator()(zwlr_layer_shell_v1* object) const { zwlr_layer_shell_v1_destroy(object); }
    void operator()(zwlr_layer_surface_v1* object) const { zwlr_layer_surface_v1_destroy(object); }
};
template <typename Object>
using Wayland = std::unique_ptr<Object, DestroyWayland>;

struct WaylandOutput {
    std::uint32_t global = 0;
    Wayland<wl_output> output;
    QString name;
    int scale = 1;
};

class WaylandDisplay {  // stays where it is: the protocol's listeners have its address
public:
    struct Events {
        std::function<void()> outputs_changed;
        std::function<void()> lost;  // destroy the display, but not in this call
    };

    // The compositor that WAYLAND_DISPLAY names; it must have wlr-layer-shell. Waits for at most a second.
    [[nodiscard]] static tl::expected<std::unique_ptr<WaylandDisplay>, NoSurface> open(Events events);

    [[nodiscard]] wl_compositor* compositor() const { return compositor_.get(); }
    [[nodiscard]] wl_shm* shm() const { return shm_.get(); }
    [[nodiscard]] zwlr_layer_shell_v1* layers() const { return layers_.get(); }
    // The output of this name; for an empty name the first output; null if there is none.
    [[nodiscard]] const WaylandOutput* output(const QString& name) const;
    // Null if the output has gone.
    [[nodiscard]] const WaylandOutput* output(std::uint32_t global) const;
    [[nodiscard]] WaylandOutput* find(const wl_output* output);
    [[nodiscard]] bool has_several_outputs() const { return outputs_.size() > 1; }
    // Sends all requests that wait.
    void flush();

private:
    WaylandDisplay(wl_display* display, Events events);

    // An error says why it cannot show the overlay.
    [[nodiscard]] std::optional<NoSurface> start();
    void read();
    void tell_outputs() const;
    void bind(std::uint32_t global, const std::string& interface, std::uint32_t version);
    void remove(std::uint32_t global);

    static const wl_registry_listener kRegistry;
    static const wl_output_listener kOutput;

    // C++ destroys the last member first, and these need that order.
    Wayland<wl_display> display_;
    Events events_;
    std::optional<QSocketNotifier> readable_;
    Wayland<wl_registry> registry_;
    Wayland<wl_compositor> compositor_;
    Wayland<wl_shm> shm_;
    Wayland<zwlr_layer_shell_v1> layers_;
    std::list<WaylandOutput> outputs_;
    bool started_ = false;
};

}  // namespace happe::ui
