# What programs say of themselves becomes files: share/ beside bin/, and installed.
include(GNUInstallDirs)
cmake_path(GET CMAKE_RUNTIME_OUTPUT_DIRECTORY PARENT_PATH HAPPE_OUTPUT)
set(HAPPE_SHARE ${HAPPE_OUTPUT}/share)

# happe_print(PROGRAM FOLDER NAME ARGUMENTS... ): what PROGRAM ARGUMENTS... prints becomes FOLDER/NAME in share/.
function(happe_print program folder name)
    set(file ${HAPPE_SHARE}/${folder}/${name})
    file(MAKE_DIRECTORY ${HAPPE_SHARE}/${folder})
    add_custom_command(OUTPUT ${file} COMMAND ${program} ${ARGN} > ${file} DEPENDS ${program} VERBATIM)
    add_custom_target(share-${name} ALL DEPENDS ${file})
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()

# happe_manual(PROGRAM SECTION) and happe_completion(PROGRAM), for programs that call add_self_description().
function(happe_manual program section)
    happe_print(${program} man/man${section} ${program}.${section} --manual)
endfunction()
function(happe_completion program)
    happe_print(${program} bash-completion/completions ${program} --completion bash)
    happe_print(${program} zsh/site-functions _${program} --completion zsh)
endfunction()
