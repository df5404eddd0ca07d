// SPDX-License-Identifier: GPL-2.0-or-later
// A pointer on a Wayland compositor without one: clicks once.
//   usage: happe-ui-pointer X Y WIDTH HEIGHT       (of the pixel, and of all outputs together)
#include <linux/input-event-codes.h>
#include <wayland-client.h>
#include <wlr-virtual-pointer-unstable-v1-client-protocol.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

zwlr_virtual_pointer_manager_v1* manager = nullptr;

constexpr wl_registry_listener kRegistry{
    .global =
        [](void*, wl_registry* registry, std::uint32_t name, const char* interface, std::uint32_t) {
            if (std::string(interface) == zwlr_virtual_pointer_manager_v1_interface.name) {
                manager = static_cast<zwlr_virtual_pointer_manager_v1*>(
                    wl_registry_bind(registry, name, &zwlr_virtual_pointer_manager_v1_interface, 1));
            }
        },
    .global_remove = [](void*, wl_registry*, std::uint32_t) {},
};

std::uint32_t number(const char* text) {
    return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace

int main(int argc, char** argv) {
    wl_display* const display = wl_display_connect(nullptr);
    if (argc != 5 || display == nullptr) {
        std::fputs("usage: happe-ui-pointer X Y WIDTH HEIGHT, on a Wayland compositor\n", stderr);
        return EXIT_FAILURE;
    }
    wl_registry_add_listener(wl_display_get_registry(display), &kRegistry, nullptr);
    wl_display_roundtrip(display);
    if (manager == nullptr) {
        std::fputs("happe-ui-pointer: this compositor has no virtual pointers\n", stderr);
        return EXIT_FAILURE;
    }
    auto* const pointer = zwlr_virtual_pointer_manager_v1_create_virtual_pointer(manager, nullptr);
    wl_display_roundtrip(display);
    std::getchar();  // clients learn of the pointer meanwhile
    zwlr_virtual_pointer_v1_motion_absolute(pointer, 0, number(argv[1]), number(argv[2]), number(argv[3]),
                                            number(argv[4]));
    zwlr_virtual_pointer_v1_frame(pointer);
    for (const auto state : {WL_POINTER_BUTTON_STATE_PRESSED, WL_POINTER_BUTTON_STATE_RELEASED}) {
        zwlr_virtual_pointer_v1_button(pointer, 1, BTN_LEFT, state);
        zwlr_virtual_pointer_v1_frame(pointer);
        wl_display_roundtrip(display);
    }
    std::getchar();  // the pointer lasts until the caller ends this program
    return EXIT_SUCCESS;
}
