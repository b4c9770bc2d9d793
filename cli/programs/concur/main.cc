// SPDX-License-Identifier: Apache-2.0
// The `concur` program.
#include <malloc.h>

#include "cli/programs/concur_commands.h"
#include "cli/programs/run_command_line.h"

int main(int argc, char** argv) {
  // Large blocks come from the heap, not from mmap: a vector that grows is then not unmapped and
  // zeroed again at each step. A command is too short-lived for the unreturned memory to matter.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // NOLINT(concurrency-mt-unsafe): no other thread yet
  return concur::cli::RunAsProcess(argc, argv, concur::cli::RunProgram);
}
