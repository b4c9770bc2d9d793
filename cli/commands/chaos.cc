// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/chaos.h"

#include <cstdint>
#include <memory>

#include "command/command.h"

namespace concur::cli {

void AddChaosCommand(Command& app, CommandContext& context,
                     const std::function<absl::Status(const ChaosFlags&, CommandContext&)>& run) {
  const auto flags = std::make_shared<ChaosFlags>();
  Command* command = app.AddSubcommand(
      "chaos",
      "Try to break the promises: simulate the whole system with faults\n"
      "The real scheduler, engine and agents run on a virtual clock while messages are lost, disks "
      "fill up, power is cut and jobs fail. A seed says what happens: the same seed, the same "
      "world. Needs no server and touches no data. Exit code 1 when a promise broke; the end of "
      "that world is printed, and the command that shows all of it.");
  command->AddOption("--seed", flags->seed, "The first seed (default: 1)")->TypeName("N");
  command
      ->AddOption("--seeds", flags->seeds, "How many seeds to run, from that one on (default: 1)")
      ->TypeName("N")
      ->InRange(uint64_t{1}, uint64_t{1'000'000'000});
  command
      ->AddOption(
          "--steps", flags->steps,
          "Events after which a world counts as one that comes to no rest (default: far more "
          "than any has had)")
      ->TypeName("N");
  command->AddOption("-j,--jobs", flags->jobs, "Processes at a time (default: one for each CPU)")
      ->TypeName("N")
      ->InRange(1, 1024);
  command->AddFlag("--trace", flags->trace, "Print everything that happens in the world of --seed");
  command
      ->AddOption("--bug", flags->bug,
                  "Plant a bug, to see it found: spool-not-read, answer-before-commit, …; a wrong "
                  "name lists them all")
      ->TypeName("NAME");
  command->Footer("Examples:\n  concur chaos --seeds 1000\n  concur chaos --seed 17 --trace");
  OnRun(command, context, [flags, run, &context] { return run(*flags, context); });
}

}  // namespace concur::cli
