# The build makes manual pages and completions from the programs' own descriptions, puts them into share/ beside bin/, and
# installs them.
include(GNUInstallDirs)
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
cmake_path(GET CMAKE_RUNTIME_OUTPUT_DIRECTORY PARENT_PATH HAPPE_OUTPUT)
set(HAPPE_SHARE ${HAPPE_OUTPUT}/share)
file(GLOB HAPPE_DESCRIBE CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/happe_describe/*)

# happe_write(PROGRAM KIND FOLDER NAME [ARGUMENT]... ): tools/happe_describe makes FOLDER/NAME in share/, of kind KIND, from the
# output of PROGRAM ARGUMENT...
function(happe_write program kind folder name)
    set(file ${HAPPE_SHARE}/${folder}/${name})
    file(MAKE_DIRECTORY ${HAPPE_SHARE}/${folder})
    add_custom_command(OUTPUT ${file}
        COMMAND ${program} ${ARGN} > ${file}.json
        COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/tools
            ${Python3_EXECUTABLE} -B -m happe_describe ${kind} < ${file}.json > ${file}
        COMMAND ${CMAKE_COMMAND} -E rm ${file}.json
        DEPENDS ${program} ${HAPPE_DESCRIBE} VERBATIM)
    add_custom_target(share-${name} ALL DEPENDS ${file})
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()

# happe_manual(PROGRAM SECTION) and happe_completion(PROGRAM), for programs that call add_description().
function(happe_manual program section)
    happe_write(${program} manual man/man${section} ${program}.${section} --describe)
endfunction()
function(happe_completion program)
    happe_write(${program} bash bash-completion/completions ${program} --describe)
    happe_write(${program} zsh zsh/site-functions _${program} --describe)
endfunction()
