# SPDX-License-Identifier: Apache-2.0
# Links Abseil, gRPC and protobuf from their archives. They come as some fifty shared libraries,
# whose loading takes a program longer than `concur data score` takes to score SQuAD; Debian ships both
# forms. No other library that Concur uses depends on them, so that there is one copy of each.
function(concur_link_archives)
  get_directory_property(targets IMPORTED_TARGETS)
  list(FILTER targets INCLUDE REGEX "^(absl|gRPC|protobuf)::")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "SHARED_LIBRARY" AND NOT type STREQUAL "UNKNOWN_LIBRARY")
      continue()
    endif()
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(suffix "" ${configurations})
      set(property IMPORTED_LOCATION)
      if(suffix)
        string(APPEND property "_${suffix}")
      endif()
      get_target_property(location ${target} ${property})
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${location}")
      if(location AND EXISTS "${archive}")
        set_target_properties(${target} PROPERTIES ${property} "${archive}")
      endif()
    endforeach()
  endforeach()
endfunction()

# Links a program without any shared library, from archives of Debian's packages and of
# CONCUR_STATIC_LIBRARIES. Its resolver is that of glibc's own archive and of c-ares: no module of
# the machine's is loaded.
function(concur_link_static target)
  target_link_options(${target} PRIVATE -static -Wl,--gc-sections)
  set_target_properties(${target} PROPERTIES
    RULE_LAUNCH_LINK "${CMAKE_SOURCE_DIR}/cmake/link-archives ${CONCUR_STATIC_LIBRARIES}")
endfunction()
