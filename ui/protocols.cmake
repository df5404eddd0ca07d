# Wayland protocols beyond the core. Their descriptions are nowhere in this tree: wayland-protocols has xdg-shell; those of
# wlroots come from the package wlr-protocols where a distribution has it (its .pc file says where), and on Debian from
# librust-wayland-protocols-dev, which carries them.
find_package(PkgConfig REQUIRED)
pkg_check_modules(WAYLAND_CLIENT REQUIRED IMPORTED_TARGET wayland-client>=1.20)
pkg_get_variable(HAPPE_XDG_PROTOCOLS wayland-protocols pkgdatadir)
pkg_get_variable(HAPPE_WLR_FOUND wlr-protocols pkgdatadir)
if(NOT HAPPE_WLR_FOUND)
    file(GLOB HAPPE_WLR_FOUND /usr/share/cargo/registry/wayland-protocols-*/wlr-protocols)
endif()
set(HAPPE_WLR_PROTOCOLS "${HAPPE_WLR_FOUND}" CACHE PATH "Where unstable/wlr-layer-shell-unstable-v1.xml is")
if(NOT EXISTS ${HAPPE_WLR_PROTOCOLS}/unstable/wlr-layer-shell-unstable-v1.xml)
    message(FATAL_ERROR "unstable/wlr-layer-shell-unstable-v1.xml is missing: install librust-wayland-protocols-dev or "
        "wlr-protocols, or give -DHAPPE_WLR_PROTOCOLS=FOLDER")
endif()
find_program(WAYLAND_SCANNER wayland-scanner REQUIRED)

# happe_protocol(TARGET XML): adds a protocol's client code to TARGET; its header is NAME-client-protocol.h. A word of C++
# that C has as a name becomes another.
function(happe_protocol target xml)
    cmake_path(GET xml STEM name)
    file(READ ${xml} text)
    string(REPLACE "name=\"namespace\"" "name=\"name_space\"" text "${text}")
    set(described ${CMAKE_CURRENT_BINARY_DIR}/protocols/${name}.xml)
    file(CONFIGURE OUTPUT ${described} CONTENT "${text}" @ONLY)
    set(header ${CMAKE_CURRENT_BINARY_DIR}/protocols/${name}-client-protocol.h)
    set(code ${CMAKE_CURRENT_BINARY_DIR}/protocols/${name}.c)
    add_custom_command(OUTPUT ${header} COMMAND ${WAYLAND_SCANNER} client-header ${described} ${header} DEPENDS ${described})
    add_custom_command(OUTPUT ${code} COMMAND ${WAYLAND_SCANNER} private-code ${described} ${code} DEPENDS ${described})
    target_sources(${target} PRIVATE ${header} ${code})
    target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/protocols)
endfunction()
