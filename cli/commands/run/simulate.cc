// SPDX-License-Identifier: Apache-2.0
// `concur sweep simulate`: how long a sweep takes on given workers, before it runs; for one that
// has ended, also how far off the forecast is.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/sweep/forecast.h"
#include "cli/sweep/submit.h"
#include "concur/v1/coordinator.pb.h"
#include "proto/rpc/convert_sweep.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

struct SimulateFlags {
  std::string sweep;
  std::vector<std::string> variables;
  ForecastFlags forecast;
};

struct Subject {
  SweepSpec spec;
  std::optional<absl::Duration> took;  // set for a sweep that has succeeded and whose jobs all ran
};

// True if what was named is a sweep file: there is such a file, or it is written as one.
bool IsSweepFile(const std::string& name) {
  std::error_code error;
  return std::filesystem::is_regular_file(name, error) || absl::StrContains(name, '/') ||
         absl::EndsWith(name, ".yaml") || absl::EndsWith(name, ".yml");
}

absl::StatusOr<Subject> Load(CommandContext& context, const SimulateFlags& flags) {
  Subject subject;
  if (IsSweepFile(flags.sweep)) {
    CONCUR_ASSIGN_OR_RETURN(const auto variables, ParseVariables(flags.variables));
    CONCUR_ASSIGN_OR_RETURN(spec::LoadedSweep loaded, spec::LoadSweep(flags.sweep, variables));
    subject.spec = std::move(loaded.spec);
    return subject;
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          client->GetSweep(flags.sweep, Client::Include::kSpec));
  CONCUR_ASSIGN_OR_RETURN(subject.spec, rpc::FromProto(sweep.spec()));
  if (sweep.state() == v1::Sweep::STATE_SUCCEEDED && sweep.reused() == 0 &&
      sweep.counts().stopped() == 0) {
    subject.took = TimeOf(sweep.end_time()) - TimeOf(sweep.create_time());
  }
  return subject;
}

absl::Status Simulate(CommandContext& context, const SimulateFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(Subject subject, Load(context, flags));
  const std::string name = subject.spec.name;
  CONCUR_ASSIGN_OR_RETURN(const Forecast forecast,
                          MakeForecast(context, flags.forecast, std::move(subject.spec)));
  std::vector<std::pair<std::string, std::string>> lines = {{"sweep", name}};
  Json record = {{"sweep", name}};
  for (auto& line : ForecastLines(forecast, flags.forecast.price)) {
    lines.push_back(std::move(line));
  }
  record.update(ForecastJson(forecast, flags.forecast.price));
  if (subject.took && *subject.took > absl::ZeroDuration()) {
    const double error = absl::FDivDuration(forecast.makespan, *subject.took) - 1;
    lines.push_back({"took", SpanText(*subject.took)});
    lines.push_back(
        {"forecast",
         absl::StrCat(ForecastErrorText(error),
                      flags.forecast.workers > 0 ? ", if it ran on such workers" : "")});
    record["took_seconds"] = absl::ToDoubleSeconds(*subject.took);
    record["error"] = error;
  }
  PrintDetails(context, lines, record);
  return absl::OkStatus();
}

}  // namespace

void AddSimulateCommand(Command& sweep, CommandContext& context) {
  const auto flags = std::make_shared<SimulateFlags>();  // shared with the stored callback
  Command* command =
      sweep.AddSubcommand("simulate", "Forecast how long a sweep takes on given workers");
  command
      ->AddOption("sweep", flags->sweep,
                  "A sweep file, or a sweep by name or id: one that has succeeded is also compared "
                  "with what it took")
      ->Required()
      ->TypeName("SWEEP");
  command
      ->AddOption("--var", flags->variables,
                  "NAME=VALUE of a variable that the file declares; repeatable")
      ->TypeName("NAME=VALUE");
  AddForecastOptions(command, flags->forecast);
  command->Footer(
      "The coordinator's own scheduler decides on a virtual clock, as if nothing were finished "
      "yet.\nExamples:\n"
      "  concur sweep simulate demo --workers 8\n"
      "  concur sweep simulate s12\n"
      "  concur sweep simulate study.yaml --workers 8 --durations durations.csv");
  OnRun(command, context, [flags, &context] { return Simulate(context, *flags); });
}

}  // namespace concur::cli
