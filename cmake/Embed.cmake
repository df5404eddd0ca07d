# happe_embed(TARGET NAME FILE): adds to TARGET a function `std::string_view happe::embedded::NAME()` that returns FILE's text
# (under 64 KiB, which every compiler must accept as one literal). The caller declares the function.
function(happe_embed target name file)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT
        "#include <string_view>\nnamespace happe::embedded {\nstd::string_view @name@();  // NOLINT(readability-redundant-declaration): in one unit with its users\nstd::string_view @name@() { return R\"embedded(@text@)embedded\"; }\n}\n")
    target_sources(${target} PRIVATE ${generated})
endfunction()

# happe_test(NAME [ALONE | OWN_MAIN] LIBRARIES... ): puts NAME_test.cpp into the folder's program of tests, FOLDER_test, which
# belongs to the target `unit_tests`. ALONE makes it a program of its own, NAME_test; so does OWN_MAIN, without gtest's main.
add_custom_target(unit_tests)
set(test_options -O0 -fPIC) # tests compile often and run briefly; Qt needs -fPIC, and one precompiled header serves all
if(NOT HAPPE_SANITIZE)
    list(APPEND test_options -g0) # GoogleTest names the line; debug information takes a sixth of the compilation
endif()
if(HAPPE_UNIT_TESTS) # compiles once what most tests include
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cpp CONTENT "\n")
    add_executable(test_headers EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(test_headers PRIVATE GTest::gtest_main)
    target_compile_options(test_headers PRIVATE ${test_options})
    target_compile_definitions(test_headers PRIVATE HAPPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_precompile_headers(test_headers PRIVATE <gtest/gtest.h> <filesystem> <fstream> <functional> <map>)
endif()
function(happe_test name)
    if(NOT HAPPE_UNIT_TESTS)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 test "ALONE;OWN_MAIN" "" "")
    set(program ${CMAKE_CURRENT_SOURCE_DIR})
    if(test_ALONE OR test_OWN_MAIN)
        set(program ${name})
    endif()
    cmake_path(GET program FILENAME program)
    set(program ${program}_test)
    if(NOT TARGET ${program})
        set(main GTest::gtest_main)
        if(test_OWN_MAIN)
            set(main GTest::gtest)
        endif()
        add_executable(${program})
        set_target_properties(${program} PROPERTIES UNITY_BUILD OFF) # files may have helpers of the same name
        add_dependencies(unit_tests ${program})
        target_link_libraries(${program} PRIVATE ${main})
        target_compile_options(${program} PRIVATE ${test_options})
        target_precompile_headers(${program} REUSE_FROM test_headers)
        target_compile_definitions(${program} PRIVATE HAPPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
        # One process runs all of a program's tests: with sanitizers a start takes longer than most tests.
        add_test(NAME ${program} COMMAND ${program} --gtest_brief=1)
        set_tests_properties(${program} PROPERTIES TIMEOUT 600 SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
    endif()
    target_sources(${program} PRIVATE ${name}_test.cpp)
    target_link_libraries(${program} PRIVATE ${test_UNPARSED_ARGUMENTS})
endfunction()
