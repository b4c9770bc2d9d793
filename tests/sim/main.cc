// SPDX-License-Identifier: Apache-2.0
// chaos: simulates the whole system with faults and checks its guarantees; needs no server.
// scripts/chaos builds and runs it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/app/context.h"
#include "cli/output/print.h"
#include "cli/programs/run_command_line.h"
#include "report/json_text.h"
#include "tests/sim/runner.h"

namespace concur::cli {
namespace {

constexpr size_t kLastLines = 40;  // lines of the trace, before a violation
constexpr size_t kTraceLinesMax = 1'000'000;
constexpr size_t kFailuresMax = 10;
constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);

struct ChaosFlags {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  uint64_t steps = 0;  // 0: the simulation's default
  int jobs = 0;
  std::string bug = "none";
  bool trace = false;
};

std::string ReplayCommand(const ChaosFlags& flags, uint64_t seed) {
  return absl::StrCat("scripts/chaos --seed ", seed,
                      flags.bug == "none" ? "" : absl::StrCat(" --bug ", flags.bug), " --trace");
}

Json RecordOf(const ChaosFlags& flags, const sim::SeedsReport& report) {
  Json failures = Json::array();
  for (const sim::SeedFailure& failure : report.failures) {
    failures.push_back({{"seed", failure.seed}, {"violation", failure.violation}});
  }
  Json faults = Json::object();
  for (const sim::Fault fault : sim::AllFaults()) {
    faults[std::string(sim::FaultName(fault))] = report.faults[static_cast<size_t>(fault)];
  }
  return {{"first_seed", flags.seed},
          {"seeds", report.seeds},
          {"events", report.steps},
          {"jobs", report.jobs},
          {"results_counted", report.counted},
          {"acknowledgements_checked", report.acknowledged},
          {"faults", std::move(faults)},
          {"violations", std::move(failures)}};
}

void PrintSeed(CommandContext& context, const ChaosFlags& flags, const sim::SeedsReport& report) {
  uint64_t total = 0;
  std::vector<std::string> kinds;
  for (const sim::Fault fault : sim::AllFaults()) {
    const uint64_t count = report.faults[static_cast<size_t>(fault)];
    total += count;
    kinds.push_back(absl::StrCat(sim::FaultName(fault), " ", CountText(count)));
  }
  PrintDetails(context,
               {{"seeds", absl::StrCat(CountText(report.seeds), " from ", flags.seed, " on")},
                {"events", CountText(report.steps)},
                {"jobs", CountText(report.jobs)},
                {"results counted", CountText(report.counted)},
                {"acknowledgements checked", CountText(report.acknowledged)},
                {"faults", absl::StrCat(CountText(total), ": ", absl::StrJoin(kinds, ", "))},
                {"promises broken", CountText(report.failures.size())}},
               RecordOf(flags, report));
}

absl::Status PrintTrace(CommandContext& context, const sim::SimulationOptions& options,
                        const ChaosFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                          sim::TraceOf(options, kTraceLinesMax));
  if (context.output == OutputMode::kJson) {
    context.out << analysis::JsonLine({{"seed", flags.seed}, {"trace", lines}});
    return absl::OkStatus();
  }
  for (const std::string& line : lines) {
    context.out << (IsJson(context) ? analysis::JsonLine(line) : absl::StrCat(line, "\n"));
  }
  return absl::OkStatus();
}

// Prints the end of the trace before a violation, and how to reproduce it.
absl::Status PrintFailure(CommandContext& context, sim::SimulationOptions options,
                          const ChaosFlags& flags, const sim::SeedFailure& failure) {
  options.seed = failure.seed;
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> lines, sim::TraceOf(options, kLastLines));
  if (!IsJson(context)) {
    context.err << "seconds     what happened last in the world of seed " << failure.seed << "\n"
                << absl::StrJoin(lines, "\n") << "\n";
  }
  PrintNote(context, absl::StrCat("all of it: ", ReplayCommand(flags, failure.seed)));
  return absl::OkStatus();
}

absl::Status Chaos(const ChaosFlags& flags, CommandContext& context) {
  sim::SeedsOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.simulation.bug, sim::BugFromName(flags.bug));
  options.simulation.seed = flags.seed;
  if (flags.steps > 0) {
    options.simulation.steps_max = flags.steps;
  }
  if (flags.trace) {
    if (flags.seeds != 1) {
      return absl::InvalidArgumentError("--trace: expected one seed, without --seeds");
    }
    return PrintTrace(context, options.simulation, flags);
  }
  options.first_seed = flags.seed;
  options.seeds = flags.seeds;
  options.failures_max = kFailuresMax;
  options.processes = flags.jobs > 0
                          ? flags.jobs
                          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  absl::Time next = absl::Now() + kProgressInterval;
  bool shown = false;
  options.progress = [&](uint64_t done) {
    if (context.err_is_terminal && !IsJson(context) && absl::Now() >= next) {
      next = absl::Now() + kProgressInterval;
      shown = true;
      context.err << "\r" << CountText(done) << "/" << CountText(flags.seeds) << " seeds"
                  << std::flush;
    }
    return true;
  };
  const absl::StatusOr<sim::SeedsReport> report = sim::RunSeeds(options);
  if (shown) {
    context.err << "\r\x1b[K" << std::flush;
  }
  CONCUR_RETURN_IF_ERROR(report.status());
  PrintSeed(context, flags, *report);
  if (report->failures.empty()) {
    return absl::OkStatus();
  }
  const sim::SeedFailure& first = report->failures.front();
  CONCUR_RETURN_IF_ERROR(PrintFailure(context, options.simulation, flags, first));
  return absl::InternalError(absl::StrCat("seed ", first.seed, ": ", first.violation));
}

void AddChaosOptions(Command& command, CommandContext& context) {
  const auto flags = std::make_shared<ChaosFlags>();
  command.AddOption("--seed", flags->seed, "The first seed (default: 1)")->TypeName("N");
  command
      .AddOption("--seeds", flags->seeds, "How many seeds to run, from that one on (default: 1)")
      ->TypeName("N")
      ->InRange(uint64_t{1}, uint64_t{1'000'000'000});
  command
      .AddOption("--steps", flags->steps,
                 "Events after which a world counts as one that comes to no rest (default: far "
                 "more than any has had)")
      ->TypeName("N");
  command.AddOption("-j,--jobs", flags->jobs, "Processes at a time (default: one for each CPU)")
      ->TypeName("N")
      ->InRange(1, 1024);
  command.AddFlag("--trace", flags->trace, "Print everything that happens in the world of --seed");
  command
      .AddOption("--bug", flags->bug,
                 "Plant a bug, to see it found: spool-not-read, answer-before-commit, …; a wrong "
                 "name lists them all")
      ->TypeName("NAME");
  OnRun(&command, context, [flags, &context] { return Chaos(*flags, context); });
}

int RunChaos(const std::vector<std::string>& args, CommandContext& context) {
  return RunCommandLine(
      args,
      {"Try to break the promises: simulate the whole system with faults\n"
       "The real scheduler, engine and agents run on a virtual clock while messages are lost, "
       "disks fill up, power is cut and jobs fail. A seed says what happens: the same seed, the "
       "same world. Needs no server and touches no data. Exit code 1 when a promise broke; the "
       "end of that world is printed, and the command that shows all of it.",
       "Examples:\n  scripts/chaos --seeds 1000\n  scripts/chaos --seed 17 --trace",
       "scripts/chaos"},
      context, AddChaosOptions);
}

}  // namespace
}  // namespace concur::cli

int main(int argc, char** argv) {
  return concur::cli::RunAsProcess(argc, argv, concur::cli::RunChaos);
}
