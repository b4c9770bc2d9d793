# SPDX-License-Identifier: Apache-2.0
# One target for each folder with a CMakeLists.txt. DEPS of a target are the layers that it may
# include; tests/tidy checks the same rule on the sources.

# Instrumented code takes three times longer to compile with -O1 than without optimisation: under a
# sanitizer only the folders that compute for long are optimised.
set(concur_optimised_under_sanitizers
    base core spec analysis report approaches qa reader_data sim store)

# The precompiled header `pch`, that of base/ if it is empty. It holds for one level of optimisation.
function(concur_use_pch target pch)
  if(NOT pch)
    set(pch concur_pch)
  endif()
  string(REGEX REPLACE "^concur_" "" name ${target})
  if(CONCUR_SANITIZE AND NOT CONCUR_FUZZ AND NOT name IN_LIST concur_optimised_under_sanitizers)
    target_compile_options(${target} PRIVATE -O0)
    if(pch STREQUAL "concur_pch")
      set(pch concur_plain_pch)
    endif()
  endif()
  if(CONCUR_PCH)
    target_precompile_headers(${target} REUSE_FROM ${pch})
  endif()
endfunction()

# Compiles about 16 files of a target as one unit: headers and the templates that files share take
# longer than what a file holds. So names local to a file must be unique within its folder.
function(concur_use_unity target)
  if(CONCUR_UNITY)
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources files)
    math(EXPR units "(${files} + 15) / 16")
    math(EXPR files_per_unit "(${files} + ${units} - 1) / ${units}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON
                          UNITY_BUILD_BATCH_SIZE ${files_per_unit})
    # A class of a .cc file with members of local types is taken for one of a header.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Under ThreadSanitizer, which has few tests (tests/CMakeLists.txt), builds only what they link.
function(concur_build_if_tested target)
  if(CONCUR_SANITIZE STREQUAL "thread")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Sets `result` to the .cc files of this folder and of those below that have no CMakeLists.txt.
function(concur_own_sources result)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  file(GLOB_RECURSE lists CONFIGURE_DEPENDS CMakeLists.txt)
  foreach(list ${lists})
    get_filename_component(folder ${list} DIRECTORY)
    if(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
      list(FILTER sources EXCLUDE REGEX "^${folder}/")
    endif()
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# concur_cc_library(NAME n DEPS … [PRIVATE_DEPS …] [SRCS …] [PCH …])
# SRCS default to concur_own_sources, except main.cc.
function(concur_cc_library)
  cmake_parse_arguments(ARG "" "NAME;PCH" "HDRS;SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  if(NOT ARG_SRCS)
    concur_own_sources(ARG_SRCS)
    list(FILTER ARG_SRCS EXCLUDE REGEX "/main\\.cc$")
  endif()
  if(NOT ARG_SRCS)
    add_library(concur_${ARG_NAME} INTERFACE)
    target_include_directories(concur_${ARG_NAME} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(concur_${ARG_NAME} INTERFACE ${ARG_DEPS})
    return()
  endif()
  add_library(concur_${ARG_NAME} STATIC ${ARG_SRCS} ${ARG_HDRS})
  target_include_directories(concur_${ARG_NAME} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(concur_${ARG_NAME}
    PUBLIC ${ARG_DEPS}
    PRIVATE concur_warnings ${ARG_PRIVATE_DEPS})
  concur_use_unity(concur_${ARG_NAME})
  concur_use_pch(concur_${ARG_NAME} "${ARG_PCH}")
  concur_build_if_tested(concur_${ARG_NAME})
endfunction()

# concur_cc_binary(NAME n SRCS … DEPS … [PCH …])
function(concur_cc_binary)
  cmake_parse_arguments(ARG "" "NAME;PCH" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_include_directories(${ARG_NAME} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE concur_warnings ${ARG_DEPS})
  set_target_properties(${ARG_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  concur_use_unity(${ARG_NAME})
  concur_use_pch(${ARG_NAME} "${ARG_PCH}")
  concur_build_if_tested(${ARG_NAME})
endfunction()

# concur_cc_test(NAME n [SRCS … default: concur_own_sources] DEPS … [LABELS …] [TIMEOUT seconds] [BINARIES targets…] [PCH …])
# One program for a folder's tests, one CTest entry. Test programs find the source tree
# through the environment variable CONCUR_SOURCE_DIR and binaries through CONCUR_BIN_DIR.
function(concur_cc_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT;PCH" "SRCS;DEPS;LABELS;BINARIES" ${ARGN})
  if(NOT ARG_SRCS)
    concur_own_sources(ARG_SRCS)
  endif()
  if(NOT ARG_SRCS)
    return()
  endif()
  add_executable(${ARG_NAME}_test ${ARG_SRCS})
  target_include_directories(${ARG_NAME}_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${ARG_NAME}_test PRIVATE concur_warnings ${ARG_DEPS}
                        GTest::gmock GTest::gtest GTest::gtest_main)
  concur_use_unity(${ARG_NAME}_test)
  if(NOT ARG_PCH)
    set(ARG_PCH concur_test_pch)
  endif()
  concur_use_pch(${ARG_NAME}_test ${ARG_PCH})
  if(ARG_BINARIES)
    add_dependencies(${ARG_NAME}_test ${ARG_BINARIES})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(CONCUR_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 3")
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME}_test --gtest_brief=1)
  set_tests_properties(${ARG_NAME} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT}
    LABELS "${ARG_LABELS}"
    ENVIRONMENT "CONCUR_SOURCE_DIR=${CMAKE_SOURCE_DIR};CONCUR_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
endfunction()
