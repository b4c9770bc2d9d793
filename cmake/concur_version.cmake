# SPDX-License-Identifier: Apache-2.0
# Writes version.cc, the one file that a new commit recompiles:
#   cmake -DVERSION=… -DINPUT=… -DOUTPUT=… -P concur_version.cmake
# The commit is that of the repository in the current directory or, in sources without one, what the
# environment's CONCUR_COMMIT names.
set(COMMIT "$ENV{CONCUR_COMMIT}")
if(COMMIT STREQUAL "")
  execute_process(COMMAND git rev-parse --short HEAD OUTPUT_VARIABLE COMMIT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
