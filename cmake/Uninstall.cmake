# Removes the files that `cmake --install` put on the machine, by the list that it left in the folder of the build:
# cmake --build BUILD --target uninstall. DESTDIR holds as for the installation. Of the folders it removes HAPPE's own, once
# they are empty.
set(list ${CMAKE_CURRENT_BINARY_DIR}/install_manifest.txt)
if(NOT EXISTS ${list})
    message(FATAL_ERROR "There is no ${list}: nothing was installed from this build")
endif()
file(STRINGS ${list} files)
foreach(file IN LISTS files)
    file(REMOVE "$ENV{DESTDIR}${file}")
    get_filename_component(folder "$ENV{DESTDIR}${file}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    file(GLOB left "${folder}/*")
    if(name MATCHES "^happe" AND NOT left)
        file(REMOVE_RECURSE "${folder}")
    endif()
endforeach()
file(REMOVE ${list})
