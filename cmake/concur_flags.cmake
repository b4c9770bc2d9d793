# SPDX-License-Identifier: Apache-2.0
# Compiler flags of every preset. One language level, one set of warnings.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# "Dev" is what scripts/demo and scripts/test build: with assertions, line tables, and the level that
# compiles in a quarter less time, without gcc's passes for loops. What is installed and measured is
# "Release".
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  string(APPEND CMAKE_CXX_FLAGS_DEV
         " -fno-tree-loop-optimize -fno-ivopts -fno-move-loop-invariants")
endif()
set(CMAKE_EXE_LINKER_FLAGS_DEV "")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "Build type" FORCE)
endif()

add_library(concur_warnings INTERFACE)
target_compile_options(concur_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  # False alarms at -O1: moved-from variants.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Dev>>:-Wno-maybe-uninitialized>
  $<$<BOOL:${CONCUR_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)

# Protobuf's target asks for it, and a precompiled header is only used with the same flags.
add_compile_options(-pthread)

# A unit of many files takes gcc 0.7 to 1.9 GiB. By default it looks for garbage from 256 MiB on, time and
# again, which took a seventh of a build to save a fifth of that memory. Now it does from 1.9 GiB on.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=1000000)  # KiB
endif()

# No contraction of a*b+c: results are the same bits on every machine.
add_compile_options(-ffp-contract=off)

if(CONCUR_SANITIZE)
  add_compile_options(-fsanitize=${CONCUR_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CONCUR_SANITIZE})
endif()

if(CONCUR_HARDENED)
  add_compile_options(-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
                      -fcf-protection -D_GLIBCXX_ASSERTIONS)
  add_link_options(-Wl,-z,relro,-z,now)
  # Programs only, and the same for all: a precompiled header is used with its own flags only.
  add_compile_options(-fPIE)
  add_link_options(-pie)
endif()

# Messages name a file from the top of the sources, whatever folder these lie in.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)

find_program(CONCUR_CCACHE ccache)
if(CONCUR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      ${CMAKE_SOURCE_DIR}/cmake/ccache ${CONCUR_CCACHE})
  if(CONCUR_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
