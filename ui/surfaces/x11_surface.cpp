// SPDX-License-Identifier: GPL-2.0-or-later
// An override-redirect window: no window manager places, stacks or focuses it. It raises itself when other windows
// appear.
#include "ui/surfaces/surface.h"
#include "ui/surfaces/x11_display.h"

#include <xcb/randr.h>
#include <xcb/shape.h>
#include <xcb/xfixes.h>
#include <QByteArray>
#include <QSocketNotifier>
#include <QTimer>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace happe::ui {
namespace {

// Window managers stack a new window in several steps.
constexpr std::chrono::milliseconds kBeforeRaise{50};

// The parts of the picture that are more opaque than transparent, as rectangles of one row each.
std::vector<xcb_rectangle_t> shape_of(const QImage& picture) {
    std::vector<xcb_rectangle_t> shape;
    for (int y = 0; y < picture.height(); ++y) {
        int x = 0;
        while (x < picture.width()) {
            const int begin = x;
            while (x < picture.width() && qAlpha(picture.pixel(x, y)) >= 128) {
                ++x;
            }
            if (x > begin) {
                shape.push_back({static_cast<std::int16_t>(begin), static_cast<std::int16_t>(y),
                                 static_cast<std::uint16_t>(x - begin), 1});
            }
            ++x;
        }
    }
    return shape;
}

class X11Surface final : public Surface {
public:
    X11Surface(std::unique_ptr<X11Display> display, Position position, Events events)
        : display_(std::move(display)),
          position_(std::move(position)),
          events_(std::move(events)),
          readable_(xcb_get_file_descriptor(x()), QSocketNotifier::Read),
          stacking_{atom_of(display_->get(), "_NET_ACTIVE_WINDOW"),
                    atom_of(display_->get(), "_NET_CLIENT_LIST_STACKING")},
          name_(atom_of(display_->get(), "_NET_WM_NAME")),
          utf8_(atom_of(display_->get(), "UTF8_STRING")),
          scale_(display_->scale()),
          translucent_(display_->has_compositor()) {
        create_window();
        watch();
        raise_.setSingleShot(true);
        raise_.setInterval(kBeforeRaise);
        QObject::connect(&raise_, &QTimer::timeout, [this] {
            if (position_.screen.isEmpty()) {
                place();  // the focus may be on another screen
            }
            raise();
            read();
        });
        QObject::connect(&readable_, &QSocketNotifier::activated, [this] { read(); });
    }

    [[nodiscard]] double scale() const override { return scale_; }
    [[nodiscard]] bool translucent() const override { return translucent_; }

    void show(const QImage& picture, const QString& name) override {
        picture_ = picture;
        const QByteArray text = name.toUtf8();
        xcb_change_property(x(), XCB_PROP_MODE_REPLACE, window_, name_, utf8_, 8,
                            static_cast<std::uint32_t>(text.size()), text.constData());
        place();
        shape();  // after place(), because mutter cuts a shape off at the window's size at that moment
        if (!std::exchange(mapped_, true)) {
            xcb_map_window(x(), window_);
        }
        raise();
        draw();
        read();
    }

    void hide() override {
        if (std::exchange(mapped_, false)) {
            raise_.stop();
            xcb_unmap_window(x(), window_);
            xcb_flush(x());
            read();
        }
    }

private:
    [[nodiscard]] xcb_connection_t* x() const { return display_->get(); }

    void create_window() {
        const xcb_colormap_t colours = xcb_generate_id(x());
        xcb_create_colormap(x(), XCB_COLORMAP_ALLOC_NONE, colours, display_->root(), display_->visual());
        const std::array<std::uint32_t, 5> values{0, 0, 1, XCB_EVENT_MASK_EXPOSURE, colours};
        xcb_create_window(
            x(), 32, window_, display_->root(), 0, 0, 1, 1, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, display_->visual(),
            XCB_CW_BACK_PIXEL | XCB_CW_BORDER_PIXEL | XCB_CW_OVERRIDE_REDIRECT | XCB_CW_EVENT_MASK | XCB_CW_COLORMAP,
            values.data());
        xcb_create_gc(x(), context_, window_, 0, nullptr);
        // No input: pointers go through.
        xcb_shape_rectangles(x(), XCB_SHAPE_SO_SET, XCB_SHAPE_SK_INPUT, XCB_CLIP_ORDERING_UNSORTED, window_, 0, 0, 0,
                             nullptr);
        constexpr std::string_view kClass("happe-indicator\0happe-indicator\0", 32);
        xcb_change_property(x(), XCB_PROP_MODE_REPLACE, window_, XCB_ATOM_WM_CLASS, XCB_ATOM_STRING, 8, kClass.size(),
                            kClass.data());
        const xcb_atom_t kind = atom_of(display_->get(), "_NET_WM_WINDOW_TYPE_NOTIFICATION");
        xcb_change_property(x(), XCB_PROP_MODE_REPLACE, window_, atom_of(display_->get(), "_NET_WM_WINDOW_TYPE"),
                            XCB_ATOM_ATOM, 32, 1, &kind);
    }

    void watch() {
        const std::uint32_t events =
            XCB_EVENT_MASK_PROPERTY_CHANGE | XCB_EVENT_MASK_STRUCTURE_NOTIFY | XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY;
        xcb_change_window_attributes(x(), display_->root(), XCB_CW_EVENT_MASK, &events);
        xcb_randr_select_input(x(), display_->root(),
                               XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE | XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE);
        xcb_xfixes_select_selection_input(x(), display_->root(), display_->compositor_selection(),
                                          XCB_XFIXES_SELECTION_EVENT_MASK_SET_SELECTION_OWNER |
                                              XCB_XFIXES_SELECTION_EVENT_MASK_SELECTION_WINDOW_DESTROY |
                                              XCB_XFIXES_SELECTION_EVENT_MASK_SELECTION_CLIENT_CLOSE);
        xcb_flush(x());
    }

    // Without a compositor the window has the picture's own shape.
    void shape() {
        const std::vector<xcb_rectangle_t> rectangles =
            translucent_ ? std::vector{xcb_rectangle_t{0, 0, static_cast<std::uint16_t>(picture_.width()),
                                                       static_cast<std::uint16_t>(picture_.height())}}
                         : shape_of(picture_);
        xcb_shape_rectangles(x(), XCB_SHAPE_SO_SET, XCB_SHAPE_SK_BOUNDING, XCB_CLIP_ORDERING_YX_BANDED, window_, 0, 0,
                             static_cast<std::uint32_t>(rectangles.size()), rectangles.data());
    }

    void place() {
        const std::vector<X11Screen> screens = display_->screens();
        const QRect area = chosen_screen(screens, position_.screen, display_->focus()).area;
        const int margin = static_cast<int>(std::lround(kMargin * scale_));
        const Corner corner = position_.corner;
        const int left = at_left(corner) ? area.x() + margin : area.x() + area.width() - margin - picture_.width();
        const int top = at_top(corner) ? area.y() + margin : area.y() + area.height() - margin - picture_.height();
        const std::array<std::uint32_t, 4> values{static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(top),
                                                  static_cast<std::uint32_t>(picture_.width()),
                                                  static_cast<std::uint32_t>(picture_.height())};
        xcb_configure_window(
            x(), window_,
            XCB_CONFIG_WINDOW_X | XCB_CONFIG_WINDOW_Y | XCB_CONFIG_WINDOW_WIDTH | XCB_CONFIG_WINDOW_HEIGHT,
            values.data());
    }

    void raise() {
        const std::uint32_t above = XCB_STACK_MODE_ABOVE;
        xcb_configure_window(x(), window_, XCB_CONFIG_WINDOW_STACK_MODE, &above);
        xcb_flush(x());
    }

    void draw() {
        xcb_put_image(x(), XCB_IMAGE_FORMAT_Z_PIXMAP, window_, context_, static_cast<std::uint16_t>(picture_.width()),
                      static_cast<std::uint16_t>(picture_.height()), 0, 0, 0, 32,
                      static_cast<std::uint32_t>(picture_.sizeInBytes()), picture_.constBits());
        xcb_flush(x());
    }

    void read() {
        while (const XcbReply<xcb_generic_event_t> event{xcb_poll_for_event(x())}) {
            handle(*event);
        }
        if (display_->lost() && readable_.isEnabled()) {
            readable_.setEnabled(false);
            events_.lost();
        }
    }

    template <typename Event>
    static const Event& as(const xcb_generic_event_t& event) {
        return reinterpret_cast<const Event&>(event);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): xcb's way
    }

    void handle(const xcb_generic_event_t& event) {
        const auto kind = static_cast<std::uint8_t>(event.response_type & 0x7F);
        if (kind == XCB_EXPOSE) {
            draw();
        } else if (kind == XCB_PROPERTY_NOTIFY) {
            property_changed(as<xcb_property_notify_event_t>(event).atom);
        } else if (kind == XCB_CONFIGURE_NOTIFY) {
            configured(as<xcb_configure_notify_event_t>(event).window);
        } else if (kind == XCB_MAP_NOTIFY) {
            others_moved(as<xcb_map_notify_event_t>(event).window);
        } else if (kind == display_->fixes_event() + XCB_XFIXES_SELECTION_NOTIFY) {
            look_changed();
        } else if (kind == display_->randr_event() + XCB_RANDR_SCREEN_CHANGE_NOTIFY ||
                   kind == display_->randr_event() + XCB_RANDR_NOTIFY) {
            screens_changed();
        }
    }

    // The root window changes when screens are plugged in or out, or arranged differently.
    void configured(xcb_window_t window) {
        if (window == display_->root()) {
            screens_changed();
        } else {
            others_moved(window);
        }
    }

    void screens_changed() {
        if (mapped_) {
            place();
            xcb_flush(x());
        }
    }

    void property_changed(xcb_atom_t atom) {
        if (atom == XCB_ATOM_RESOURCE_MANAGER) {
            look_changed();
        } else if (std::ranges::find(stacking_, atom) != stacking_.end()) {
            others_moved(XCB_WINDOW_NONE);
        }
    }

    void others_moved(xcb_window_t window) {
        if (mapped_ && window != window_ && !raise_.isActive()) {
            raise_.start();
        }
    }

    void look_changed() {
        const double scale = std::exchange(scale_, display_->scale());
        const bool translucent = std::exchange(translucent_, display_->has_compositor());
        if (scale != scale_ || translucent != translucent_) {
            events_.changed();
        }
    }

    std::unique_ptr<X11Display> display_;
    Position position_;
    Events events_;
    QSocketNotifier readable_;
    QTimer raise_;
    xcb_window_t window_ = xcb_generate_id(x());
    xcb_gcontext_t context_ = xcb_generate_id(x());
    std::array<xcb_atom_t, 2> stacking_;
    xcb_atom_t name_;
    xcb_atom_t utf8_;
    double scale_;
    bool translucent_;
    bool mapped_ = false;
    QImage picture_;
};

}  // namespace

SurfaceOrError open_x11_surface(const Position& position, Surface::Events events) {
    auto display = X11Display::open();
    if (!display) {
        return tl::unexpected(NoSurface{.why = std::move(display).error()});
    }
    return std::make_unique<X11Surface>(*std::move(display), position, std::move(events));
}

}  // namespace happe::ui
