// concur: the program that people use.
#include <malloc.h>

#include "cli/command_program.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  // Large blocks come from the heap as small ones do: one that grows is then not given back to the
  // kernel and cleared again at every step. A command lives too short to miss the memory.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // NOLINT(concurrency-mt-unsafe): no other thread yet
  return concur::cli::RunAsProcess(argc, argv, concur::cli::RunProgram);
}
