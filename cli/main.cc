// concur: the program that people use.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // What gRPC would print about a failed handshake is said better by the error that follows.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // NOLINT(concurrency-mt-unsafe)
  concur::cli::CommandContext context{.out = std::cout, .err = std::cerr};
  context.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  context.err_is_terminal = isatty(STDERR_FILENO) != 0;
  const char* no_color = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread yet
  const char* terminal = std::getenv("TERM");      // NOLINT(concurrency-mt-unsafe)
  context.color = (context.out_is_terminal || context.err_is_terminal) &&
                  (no_color == nullptr || *no_color == '\0') &&
                  (terminal == nullptr || std::string(terminal) != "dumb");
  const int code =
      concur::cli::RunProgram(std::vector<std::string>(argv + 1, argv + argc), context);
  std::cout.flush();
  if (!std::cout && code == 0) {
    std::cerr << "concur: error: standard output: cannot write\n";
    return concur::cli::kExitError;
  }
  return code;
}
