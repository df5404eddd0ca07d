# Wayland protocols beyond the core. Their descriptions are nowhere in this tree: wayland-protocols has xdg-shell, and
# cmake/WlrProtocols.cmake finds those of wlroots.

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
