// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/commands.h"
#include "cli/programs/run_command_line.h"

int main(int argc, char** argv) {
  return concur::cli::RunAsProcess(argc, argv, concur::cli::RunReplays);
}
