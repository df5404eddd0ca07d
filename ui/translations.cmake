# Translations: ui/translations/happe_LANGUAGE.ts, renewed by `lupdate ui governor/explain -ts FILE`; happe_en.ts, which has only the forms of
# plurals, by `lupdate ui -pluralonly -ts FILE`.

# happe_translations(TARGET): puts every language into TARGET as :/translations/happe_LANGUAGE.qm.
function(happe_translations target)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ui/translations/*.ts)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/translations)
    set(compiled)
    foreach(source ${sources})
        cmake_path(GET source STEM name)
        add_custom_command(OUTPUT ${folder}/${name}.qm DEPENDS ${source} VERBATIM
            COMMAND ${QT_LRELEASE} -silent ${source} -qm ${folder}/${name}.qm)
        list(APPEND compiled ${folder}/${name}.qm)
    endforeach()
    qt_add_resources(${target} translations PREFIX /translations BASE ${folder} FILES ${compiled})
endfunction()
