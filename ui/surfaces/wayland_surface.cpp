// SPDX-License-Identifier: GPL-2.0-or-later
// A surface of wlr-layer-shell in the topmost layer, with an empty input region and no keyboard.
#include "ui/surfaces/surface.h"
#include "ui/surfaces/wayland_display.h"

#include <sys/mman.h>
#include <unistd.h>
#include <array>
#include <cstring>
#include <utility>

namespace happe::ui {
namespace {

int up_to_multiple(int length, int of) {
    return (length + of - 1) / of * of;
}

// Puts the picture into memory that the compositor reads. Frees it when the compositor releases it.
wl_buffer* shared_picture(wl_shm* shm, const QImage& picture) {
    static constexpr wl_buffer_listener kListener{
        .release = [](void*, wl_buffer* buffer) { wl_buffer_destroy(buffer); },
    };
    const auto size = static_cast<std::size_t>(picture.sizeInBytes());
    const int file = ::memfd_create("happe-indicator", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(size)) != 0) {
        ::close(file);
        return nullptr;
    }
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    wl_buffer* buffer = nullptr;
    if (memory != MAP_FAILED) {
        std::memcpy(memory, picture.constBits(), size);
        ::munmap(memory, size);
        wl_shm_pool* const pool = wl_shm_create_pool(shm, file, static_cast<std::int32_t>(size));
        buffer = wl_shm_pool_create_buffer(pool, 0, picture.width(), picture.height(),
                                           static_cast<std::int32_t>(picture.bytesPerLine()), WL_SHM_FORMAT_ARGB8888);
        wl_shm_pool_destroy(pool);
        wl_buffer_add_listener(buffer, &kListener, nullptr);
    }
    ::close(file);
    return buffer;
}

std::uint32_t anchor_of(Corner corner) {
    return (at_left(corner) ? std::uint32_t{ZWLR_LAYER_SURFACE_V1_ANCHOR_LEFT}
                            : std::uint32_t{ZWLR_LAYER_SURFACE_V1_ANCHOR_RIGHT}) |
           (at_top(corner) ? std::uint32_t{ZWLR_LAYER_SURFACE_V1_ANCHOR_TOP}
                           : std::uint32_t{ZWLR_LAYER_SURFACE_V1_ANCHOR_BOTTOM});
}

class WaylandSurface final : public Surface {
public:
    WaylandSurface(Position position, Events events) : position_(std::move(position)), events_(std::move(events)) {}
    ~WaylandSurface() override { close(); }

    // An error says why there can be no surface.
    [[nodiscard]] std::optional<NoSurface> open() {
        auto opened = WaylandDisplay::open(
            {.outputs_changed = [this] { outputs_changed(); }, .lost = [this] { events_.lost(); }});
        if (!opened) {
            return std::move(opened).error();
        }
        display_ = *std::move(opened);
        scale_ = wanted_scale();
        return std::nullopt;
    }

    [[nodiscard]] double scale() const override { return scale_; }
    [[nodiscard]] bool translucent() const override { return true; }

    void show(const QImage& picture, const QString& /*name*/) override {
        const int whole = scale_;
        picture_ = picture.copy(0, 0, up_to_multiple(picture.width(), whole), up_to_multiple(picture.height(), whole));
        shown_ = true;
        update();
    }

    void hide() override {
        shown_ = false;
        update();
    }

    // Compositors do not report which output has the focus, but a new surface without an output appears there.
    void follow_focus() override {
        if (layer_ && position_.screen.isEmpty() && display_->has_several_outputs()) {
            close();
            update();
        }
    }

private:
    [[nodiscard]] int wanted_scale() const {
        const WaylandOutput* const entered = display_->output(on_);
        const WaylandOutput* const output = entered != nullptr ? entered : display_->output(position_.screen);
        return output != nullptr ? output->scale : 1;
    }

    void outputs_changed() {
        follow_scale();
        update();
    }

    void update() {
        const WaylandOutput* const output = shown_ ? display_->output(position_.screen) : nullptr;
        if (layer_ && (output == nullptr || (!position_.screen.isEmpty() && output->global != on_))) {
            close();
        }
        if (output != nullptr && !layer_) {
            create(position_.screen.isEmpty() ? nullptr : output);
        } else if (layer_ && configured_) {
            attach();
        }
        display_->flush();
    }

    // Null: the compositor chooses, which is the output with the focus.
    void create(const WaylandOutput* output) {
        static constexpr zwlr_layer_surface_v1_listener kListener{
            .configure =
                [](void* data, zwlr_layer_surface_v1* layer, std::uint32_t serial, std::uint32_t, std::uint32_t) {
                    zwlr_layer_surface_v1_ack_configure(layer, serial);
                    static_cast<WaylandSurface*>(data)->configured();
                },
            .closed = [](void* data, zwlr_layer_surface_v1*) { static_cast<WaylandSurface*>(data)->close(); },
        };
        static constexpr wl_surface_listener kEntered{
            .enter = [](void* data, wl_surface*, wl_output* on) { static_cast<WaylandSurface*>(data)->entered(on); },
            .leave = [](void*, wl_surface*, wl_output*) {},
        };
        on_ = output != nullptr ? output->global : 0;
        surface_.reset(wl_compositor_create_surface(display_->compositor()));
        wl_surface_add_listener(surface_.get(), &kEntered, this);
        layer_.reset(zwlr_layer_shell_v1_get_layer_surface(display_->layers(), surface_.get(),
                                                           output != nullptr ? output->output.get() : nullptr,
                                                           ZWLR_LAYER_SHELL_V1_LAYER_OVERLAY, "happe-indicator"));
        zwlr_layer_surface_v1_add_listener(layer_.get(), &kListener, this);
        zwlr_layer_surface_v1_set_anchor(layer_.get(), anchor_of(position_.corner));
        zwlr_layer_surface_v1_set_margin(layer_.get(), kMargin, kMargin, kMargin, kMargin);
        zwlr_layer_surface_v1_set_exclusive_zone(layer_.get(), -1);
        const Wayland<wl_region> nowhere(wl_compositor_create_region(display_->compositor()));
        wl_surface_set_input_region(surface_.get(), nowhere.get());
        set_size();
        wl_surface_commit(surface_.get());
    }

    void entered(const wl_output* output) {
        const WaylandOutput* const known = display_->find(output);
        on_ = known != nullptr ? known->global : 0;
        follow_scale();
    }

    void follow_scale() {
        if (std::exchange(scale_, wanted_scale()) != scale_) {
            events_.changed();
        }
    }

    void set_size() {
        zwlr_layer_surface_v1_set_size(layer_.get(), static_cast<std::uint32_t>(picture_.width() / scale_),
                                       static_cast<std::uint32_t>(picture_.height() / scale_));
    }

    // The compositor knows the surface, and reports the size that we asked for.
    void configured() {
        if (!std::exchange(configured_, true)) {
            attach();
        }
    }

    void attach() {
        wl_buffer* const buffer = shared_picture(display_->shm(), picture_);
        if (buffer == nullptr) {
            return;  // out of memory: the last picture stays
        }
        set_size();
        wl_surface_set_buffer_scale(surface_.get(), scale_);
        wl_surface_attach(surface_.get(), buffer, 0, 0);
        wl_surface_damage_buffer(surface_.get(), 0, 0, picture_.width(), picture_.height());
        wl_surface_commit(surface_.get());
    }

    // Closes the surface until the next show(), or until an output appears.
    void close() {
        layer_.reset();
        surface_.reset();
        configured_ = false;
    }

    Position position_;
    Events events_;
    std::unique_ptr<WaylandDisplay> display_;
    Wayland<wl_surface> surface_;
    Wayland<zwlr_layer_surface_v1> layer_;
    std::uint32_t on_ = 0;  // the global of an output; 0 while that is unknown
    int scale_ = 1;
    bool configured_ = false;
    bool shown_ = false;
    QImage picture_;
};

}  // namespace

SurfaceOrError open_wayland_surface(const Position& position, Surface::Events events) {
    auto surface = std::make_unique<WaylandSurface>(position, std::move(events));
    if (auto nothing = surface->open()) {
        return tl::unexpected(*std::move(nothing));
    }
    return surface;
}

}  // namespace happe::ui
