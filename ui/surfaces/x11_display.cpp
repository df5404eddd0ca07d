// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/surfaces/x11_display.h"

#include "ui/surfaces/socket_deadline.h"

#include <xcb/randr.h>
#include <xcb/shape.h>
#include <xcb/xfixes.h>
#include <algorithm>
#include <charconv>
#include <utility>

namespace happe::ui {
namespace {

constexpr std::uint32_t kMostResources = 1 << 16;  // in words of the protocol

// Calls `visit` for each item of an xcb iterator.
template <typename Iterator, typename Visit>
void each(Iterator iterator, void (*next)(Iterator*), const Visit& visit) {
    for (; iterator.rem > 0; next(&iterator)) {
        visit(*iterator.data);
    }
}

xcb_visualid_t translucent_visual(const xcb_screen_t& screen) {
    xcb_visualid_t found = 0;
    each(xcb_screen_allowed_depths_iterator(&screen), xcb_depth_next, [&](xcb_depth_t& depth) {
        each(xcb_depth_visuals_iterator(&depth), xcb_visualtype_next, [&](const xcb_visualtype_t& visual) {
            if (depth.depth == 32 && visual._class == XCB_VISUAL_CLASS_TRUE_COLOR && visual.red_mask == 0xFF0000) {
                found = visual.visual_id;
            }
        });
    });
    return found;
}

}  // namespace

double scale_in_resources(const std::string& resources) {
    const std::string name = "Xft.dpi:";
    const std::size_t at = resources.starts_with(name) ? 0 : resources.find("\n" + name);
    if (at == std::string::npos) {
        return 1.0;
    }
    const std::size_t value = resources.find_first_not_of(" \t", resources.find(':', at) + 1);
    double dpi = 0.0;
    if (value != std::string::npos) {
        std::from_chars(resources.data() + value, resources.data() + resources.size(), dpi);
    }
    return dpi >= 48.0 && dpi <= 960.0 ? dpi / 96.0 : 1.0;
}

const X11Screen& chosen_screen(const std::vector<X11Screen>& screens, const QString& name,
                               std::optional<QPoint> focus) {
    auto found = std::ranges::find(screens, name, &X11Screen::name);
    if (found == screens.end() && name.isEmpty() && focus) {
        found = std::ranges::find_if(screens, [&](const X11Screen& screen) { return screen.area.contains(*focus); });
    }
    if (found == screens.end()) {
        found = std::ranges::find(screens, true, &X11Screen::primary);
    }
    return found != screens.end() ? *found : screens.front();
}

tl::expected<std::unique_ptr<X11Display>, std::string> X11Display::open() {
    auto opened = connect_x11();
    if (!opened) {
        return tl::unexpected(std::move(opened).error());
    }
    std::unique_ptr<X11Display> display(new X11Display(*std::move(opened)));
    if (!display->start()) {
        return tl::unexpected<std::string>("the X server lacks Shape, XFixes, RandR or windows with an alpha channel");
    }
    return display;
}

X11Display::X11Display(X11Connection opened) : opened_(std::move(opened)) {}

bool X11Display::start() {
    const SocketDeadline second(xcb_get_file_descriptor(get()));
    screen_ = &screen_of(opened_);
    const auto* const shape = xcb_get_extension_data(get(), &xcb_shape_id);
    const auto* const fixes = xcb_get_extension_data(get(), &xcb_xfixes_id);
    const auto* const randr = xcb_get_extension_data(get(), &xcb_randr_id);
    if (shape->present == 0 || fixes->present == 0 || randr->present == 0) {
        return false;
    }
    // A client must announce its version to both extensions before it uses them.
    const XcbReply<xcb_xfixes_query_version_reply_t> fixes_version(
        xcb_xfixes_query_version_reply(get(), xcb_xfixes_query_version(get(), 5, 0), nullptr));
    const XcbReply<xcb_randr_query_version_reply_t> randr_version(
        xcb_randr_query_version_reply(get(), xcb_randr_query_version(get(), 1, 5), nullptr));
    fixes_event_ = fixes->first_event;
    randr_event_ = randr->first_event;
    visual_ = translucent_visual(*screen_);
    compositor_ = atom_of(get(), "_NET_WM_CM_S" + std::to_string(opened_.screen));
    active_ = atom_of(get(), "_NET_ACTIVE_WINDOW");
    return fixes_version && randr_version && visual_ != 0;
}

bool X11Display::has_compositor() const {
    const SocketDeadline second(xcb_get_file_descriptor(get()));
    const XcbReply<xcb_get_selection_owner_reply_t> reply(
        xcb_get_selection_owner_reply(get(), xcb_get_selection_owner(get(), compositor_), nullptr));
    return reply && reply->owner != XCB_WINDOW_NONE;
}

double X11Display::scale() const {
    const SocketDeadline second(xcb_get_file_descriptor(get()));
    return scale_in_resources(text_of(get(), root(), XCB_ATOM_RESOURCE_MANAGER, kMostResources));
}

std::optional<QPoint> X11Display::focus() const {
    const SocketDeadline second(xcb_get_file_descriptor(get()));
    const xcb_window_t window = window_in(get(), root(), active_);
    const XcbReply<xcb_get_geometry_reply_t> size(
        xcb_get_geometry_reply(get(), xcb_get_geometry(get(), window), nullptr));
    const XcbReply<xcb_translate_coordinates_reply_t> middle(
        size ? xcb_translate_coordinates_reply(
                   get(),
                   xcb_translate_coordinates(get(), window, root(), static_cast<std::int16_t>(size->width / 2),
                                             static_cast<std::int16_t>(size->height / 2)),
                   nullptr)
             : nullptr);
    return middle ? std::optional(QPoint(middle->dst_x, middle->dst_y)) : std::nullopt;
}

std::vector<X11Screen> X11Display::screens() const {
    const SocketDeadline second(xcb_get_file_descriptor(get()));
    std::vector<X11Screen> found;
    const XcbReply<xcb_randr_get_monitors_reply_t> reply(
        xcb_randr_get_monitors_reply(get(), xcb_randr_get_monitors(get(), root(), 1), nullptr));
    if (reply) {
        each(xcb_randr_get_monitors_monitors_iterator(reply.get()), xcb_randr_monitor_info_next,
             [&](const xcb_randr_monitor_info_t& it) {
                 const XcbReply<xcb_get_atom_name_reply_t> name(
                     xcb_get_atom_name_reply(get(), xcb_get_atom_name(get(), it.name), nullptr));
                 found.push_back({name ? QString::fromLatin1(xcb_get_atom_name_name(name.get()),
                                                             xcb_get_atom_name_name_length(name.get()))
                                       : QString(),
                                  it.primary != 0, QRect(it.x, it.y, it.width, it.height)});
             });
    }
    if (found.empty()) {
        found.push_back({{}, true, QRect(0, 0, screen_->width_in_pixels, screen_->height_in_pixels)});
    }
    return found;
}

}  // namespace happe::ui
