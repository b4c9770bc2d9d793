# SPDX-License-Identifier: Apache-2.0
# Makes the target concur_torch from libtorch: that of Torch_DIR, otherwise Debian's libtorch-dev.
# Without it, or with CONCUR_READERS=OFF, there is no such target and a message says why.
option(CONCUR_READERS "Build concur-reader, which links torch" ON)
if(NOT CONCUR_READERS)
  return()
endif()
if(CONCUR_SANITIZE)
  message(STATUS "concur-reader is not built: libtorch is not instrumented")
  return()
endif()
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)  # the tests link it, too
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(STATUS "concur-reader is not built: clang 14 refuses the headers of libtorch 1.13 in C++20")
  return()
endif()
find_package(Torch QUIET)
unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
if(NOT Torch_FOUND)
  message(STATUS "concur-reader is not built: torch was not found; "
                 "scripts/install-packages scripts/packages/readers.txt installs it, or set Torch_DIR")
  return()
endif()
# Its headers are taken as the system's, so that they bring no warnings.
add_library(concur_torch INTERFACE)
target_include_directories(concur_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(concur_torch INTERFACE ${TORCH_LIBRARIES})
