// concur: the program that people use.
#include "cli/command_program.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  return concur::cli::RunAsProcess(argc, argv, concur::cli::RunProgram);
}
