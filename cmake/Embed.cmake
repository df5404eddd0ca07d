# happe_embed(TARGET NAME FILE): adds to TARGET a function `std::string_view happe::embedded::NAME()` that returns FILE's text
# (under 64 KiB, the least a compiler must take as one literal). Who calls it declares it.
function(happe_embed target name file)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT
        "#include <string_view>\nnamespace happe::embedded {\nstd::string_view @name@();  // NOLINT(readability-redundant-declaration): in one unit with its users\nstd::string_view @name@() { return R\"embedded(@text@)embedded\"; }\n}\n")
    target_sources(${target} PRIVATE ${generated})
endfunction()

# happe_test(NAME [OWN_MAIN] LIBRARIES... ): NAME_test.cpp is built with `unit_tests`, and each of its tests registered.
add_custom_target(unit_tests)
function(happe_test name)
    if(NOT HAPPE_UNIT_TESTS)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 test OWN_MAIN "" "")
    set(main GTest::gtest_main)
    if(test_OWN_MAIN)
        set(main GTest::gtest)
    endif()
    cmake_path(GET name FILENAME test)
    add_executable(${test}_test ${name}_test.cpp)
    add_dependencies(unit_tests ${test}_test)
    target_link_libraries(${test}_test PRIVATE ${test_UNPARSED_ARGUMENTS} ${main})
    target_compile_options(${test}_test PRIVATE -O0) # compiled often, run briefly
    target_compile_definitions(${test}_test PRIVATE HAPPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    gtest_discover_tests(${test}_test PROPERTIES TIMEOUT 600)
endfunction()
