# Finds the folder of wlroots' Wayland protocols, HAPPE_WLR_PROTOCOLS. On some distributions the package wlr-protocols has
# them, and its .pc file names the folder. Debian has them among Rust's sources: Debian 12 in librust-wayland-protocols-dev,
# later releases in librust-wayland-protocols-wlr-dev. CMake remembers a folder that has them, and looks again after a miss.
# HAPPE_WLR_PACKAGE is this distribution's package that has them.
find_package(PkgConfig REQUIRED)
set(layer_shell unstable/wlr-layer-shell-unstable-v1.xml)
if(NOT EXISTS "${HAPPE_WLR_PROTOCOLS}/${layer_shell}")
    unset(HAPPE_WLR_PROTOCOLS CACHE)
endif()
pkg_get_variable(packaged wlr-protocols pkgdatadir)
file(GLOB crates "${CMAKE_SYSROOT}/usr/share/cargo/registry/wayland-protocols-*/wlr-protocols")
find_path(HAPPE_WLR_PROTOCOLS ${layer_shell} PATHS ${packaged} ${crates} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
    DOC "Where ${layer_shell} is")
cmake_host_system_information(RESULT distribution QUERY DISTRIB_ID)
cmake_host_system_information(RESULT release QUERY DISTRIB_VERSION_ID)
if(NOT distribution STREQUAL debian)
    set(HAPPE_WLR_PACKAGE wlr-protocols)
elseif(release EQUAL 12)
    set(HAPPE_WLR_PACKAGE librust-wayland-protocols-dev)
else()
    set(HAPPE_WLR_PACKAGE librust-wayland-protocols-wlr-dev)
endif()
