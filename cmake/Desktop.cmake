# Decides whether the build includes the programs of the desktop (HAPPE_DESKTOP), and finds their dependencies. HAPPE_UI is
# ON (all dependencies must be there), OFF, or AUTO (the build includes the programs if all are there).
set(HAPPE_UI AUTO CACHE STRING "Build the programs of the desktop: ON, OFF or AUTO")
set(HAPPE_DESKTOP OFF)
if(NOT HAPPE_UI)
    return()
endif()

find_package(PkgConfig REQUIRED)
find_package(Qt6 6.4 QUIET COMPONENTS Core DBus Gui Network Widgets)
find_program(QT_LRELEASE lrelease PATHS /usr/lib/qt6/bin NO_DEFAULT_PATH)
pkg_check_modules(XCB QUIET IMPORTED_TARGET xau xcb xcb-randr xcb-res xcb-shape xcb-xfixes)
pkg_check_modules(WAYLAND_CLIENT QUIET IMPORTED_TARGET wayland-client>=1.20)
pkg_get_variable(HAPPE_XDG_PROTOCOLS wayland-protocols pkgdatadir)
find_program(WAYLAND_SCANNER wayland-scanner)
include(${CMAKE_CURRENT_LIST_DIR}/WlrProtocols.cmake)

# The variable of each, and its name with Debian's package.
set(needs
    Qt6_FOUND "Qt 6.4 (qt6-base-dev)"
    QT_LRELEASE "lrelease (qt6-l10n-tools)"
    XCB_FOUND "xcb (libxau-dev, libxcb1-dev, libxcb-randr0-dev, libxcb-res0-dev, libxcb-shape0-dev, libxcb-xfixes0-dev)"
    WAYLAND_CLIENT_FOUND "wayland-client (libwayland-dev)"
    WAYLAND_SCANNER "wayland-scanner (libwayland-bin)"
    HAPPE_XDG_PROTOCOLS "xdg-shell and ext-idle-notify (wayland-protocols)"
    HAPPE_WLR_PROTOCOLS "wlr-layer-shell (${HAPPE_WLR_PACKAGE}, or -DHAPPE_WLR_PROTOCOLS=FOLDER)")
set(lacking)
while(needs)
    list(POP_FRONT needs found name)
    if(NOT ${found})
        list(APPEND lacking "${name}")
    endif()
endwhile()

if(NOT lacking)
    set(HAPPE_DESKTOP ON)
else()
    list(JOIN lacking "; " lacking)
    if(HAPPE_UI STREQUAL AUTO)
        message(NOTICE "Left out: happe-indicator, happe-study and the owner's window. They lack ${lacking}")
    else()
        message(FATAL_ERROR "The programs of the desktop lack ${lacking}. -DHAPPE_UI=OFF leaves them out")
    endif()
endif()
