// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/output/score_columns.h"
#include "cli/output/table_output.h"
#include "cli/study/open_study.h"
#include "concur/v1/coordinator.pb.h"
#include "core/fields.h"
#include "core/job.h"
#include "core/job_score.h"
#include "core/sweep/expansion.h"
#include "core/sweep/params.h"
#include "proto/rpc/convert_score.h"
#include "proto/rpc/convert_sweep.h"
#include "report/notes.h"
#include "report/sweep_table.h"
#include "report/table.h"
#include "report/writers.h"

namespace concur::cli {
namespace {

struct ScoresFlags {
  std::string sweep;
  std::string metric;
  std::string select;
  bool validation = false;
  ScoreFileFlags file;
  std::vector<std::string> where;
  std::string format;
  bool by_job = false;
  bool columns = false;
  bool meta = false;
};

std::vector<std::string> CellsOf(const JobScore& score) {
  return {score.job.ToString(),
          score.approach,
          score.train_set,
          score.test_benchmark,
          absl::StrCat(score.setting),
          absl::StrCat(score.seed),
          score.metric,
          score.value.has_value() ? absl::StrFormat("%.4f", *score.value) : "",
          score.examples == 0 ? "" : CountText(score.examples),
          std::string(JobStateName(score.state))};
}

// The scores of a sweep that was imported, each with what is known of its source.
absl::Status ListImported(Client& client, const v1::Sweep& sweep, const std::string& metric,
                          const std::function<void(const Json&)>& each) {
  std::map<std::string, std::string> metrics;  // by benchmark
  for (const v1::Benchmark& benchmark : sweep.spec().benchmarks()) {
    metrics[benchmark.name()] = metric.empty() ? benchmark.metric() : metric;
  }
  v1::ListJobsRequest request;
  request.set_sweep(sweep.id());
  absl::Status status;
  CONCUR_RETURN_IF_ERROR(client.ListJobs(request, 0, [&](const v1::Job& job) {
    const absl::StatusOr<JobScore> score =
        rpc::ScoreFromJob(job, metrics[job.test_benchmark()], FieldPath(job.id()));
    status = score.status();
    if (status.ok()) {
      Json json = ScoreJson(*score);
      Json source = Json::parse(job.result().message(), nullptr, /*allow_exceptions=*/false);
      json["source"] = source.is_discarded() ? Json() : std::move(source);
      each(json);
    }
    return status.ok();
  }));
  return status;
}

absl::Status PrintByJob(CommandContext& context, Client& client, const ScoresFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          client.GetSweep(flags.sweep, Client::Include::kSpec));
  CONCUR_RETURN_IF_ERROR(CheckMetric(client, sweep, flags.metric));
  CONCUR_ASSIGN_OR_RETURN(SweepSpec spec, rpc::FromProto(sweep.spec()));
  CONCUR_ASSIGN_OR_RETURN(const Expansion expansion, Expansion::Make(std::move(spec)));
  std::vector<Column> columns = {{"JOB"},
                                 {.name = "APPROACH", .width_max = 40},
                                 {.name = "TRAIN", .drop = 1, .width_max = 40},
                                 {.name = "TEST", .width_max = 40},
                                 {"SETTING", true},
                                 {"SEED", true},
                                 {.name = "METRIC", .drop = 2},
                                 {"VALUE", true},
                                 {.name = "EXAMPLES", .is_number = true, .drop = 3},
                                 {.name = "STATE", .is_state = true}};
  Json prototype = ScoreJson(JobScore());
  for (const ApproachSpec& approach : expansion.spec().approaches) {
    for (const auto& [name, value] : approach.hyperparameters.defaults) {
      prototype["setting"][name] = Json();
    }
  }
  for (const auto& [name, value] : prototype["setting"].items()) {
    columns.push_back({.name = LineText(name), .drop = 4, .width_max = 20});
  }
  Listing listing(context, columns, prototype, "No scores: the sweep evaluates nothing.");
  if (IsJson(context) && !sweep.spec().imported().empty()) {
    CONCUR_RETURN_IF_ERROR(ListImported(client, sweep, flags.metric,
                                        [&listing](const Json& score) { listing.Add({}, score); }));
    listing.Print();
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(client.ListScores(sweep.id(), flags.metric, [&](const JobScore& score) {
    const Setting* const setting = SettingOf(expansion, score.job.index);
    if (listing.wants_cells()) {
      std::vector<std::string> cells = CellsOf(score);
      for (const auto& [name, unset] : prototype["setting"].items()) {
        cells.push_back(setting != nullptr && setting->contains(name)
                            ? LineText(ParamText(setting->at(name)))
                            : "");
      }
      listing.Add(std::move(cells), Json());
      return;
    }
    Json json = ScoreJson(score);
    json["setting"] = setting == nullptr ? Json::object() : SettingJson(*setting);
    if (context.output == OutputMode::kCsv && setting != nullptr) {
      for (const auto& [name, value] : *setting) {
        json["setting"][name] = ParamText(value);  // 1.10 as written, which is a number in JSON
      }
    }
    listing.Add({}, json);
  }));
  listing.Print();
  return absl::OkStatus();
}

absl::Status PrintColumns(CommandContext& context, Client& client, const ScoresFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          client.GetSweep(flags.sweep, Client::Include::kSpec));
  CONCUR_RETURN_IF_ERROR(CheckMetric(client, sweep, flags.metric));
  CONCUR_ASSIGN_OR_RETURN(SweepSpec spec, rpc::FromProto(sweep.spec()));
  CONCUR_ASSIGN_OR_RETURN(const Expansion expansion, Expansion::Make(std::move(spec)));
  ScoreColumns columns(expansion, context.out);
  CONCUR_RETURN_IF_ERROR(client.ListScores(
      sweep.id(), flags.metric, [&columns](const JobScore& score) { columns.Add(score); }));
  columns.Finish();
  return absl::OkStatus();
}

absl::Status PrintScores(CommandContext& context, const ScoresFlags& flags) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  if (flags.columns) {
    CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
    return PrintColumns(context, *client, flags);
  }
  if (flags.by_job) {
    CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
    return PrintByJob(context, *client, flags);
  }
  CONCUR_ASSIGN_OR_RETURN(SweepTableOptions asked, TableOptionsOf(flags.file, flags.select));
  asked.show_validation = flags.validation;
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table,
                          OpenScoreTable(context, flags.sweep, flags.metric, asked));
  CONCUR_ASSIGN_OR_RETURN(table, table.Where(flags.where));
  const analysis::TableFormat form = FormatOf(flags.format, context);
  const std::vector<std::string> minimized = table.Minimized();
  if (form == analysis::TableFormat::kCsv && !flags.meta && !minimized.empty()) {
    PrintNote(context,
              absl::StrCat(analysis::LessIsBetter(minimized), "; --meta writes that into the CSV"));
  }
  PrintAs(form,
          form == analysis::TableFormat::kCsv && !flags.meta
              ? analysis::WriteTable(analysis::ScoresTable(table, /*people_see_tags=*/false), form)
              : analysis::WriteScores(table, form, TextOptionsOf(context)),
          context);
  return absl::OkStatus();
}

}  // namespace

void AddScoresCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("scores", "What every approach of a sweep scored on every benchmark");
  const auto flags = std::make_shared<ScoresFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by id or name; or ./DIRECTORY of a bundle")
      ->TypeName("SWEEP")
      ->Required();
  command->AddOption("--metric", flags->metric, "Default: each benchmark's own")->TypeName("NAME");
  AddSelectOption(command, flags->select);
  command->AddFlag("--validation", flags->validation,
                   "Columns for validation sets, too: what settings were chosen on");
  AddMinimizeOption(command, flags->file);
  AddWhereOption(command, flags->where);
  AddFormatOption(command, flags->format, context);
  command->AddFlag(
      "--by-job", flags->by_job,
      "Every score by itself, with its state: in CSV the table leaves failed, pending and "
      "missing cells empty; not of a bundle");
  command->AddFlag("--meta", flags->meta,
                   "In CSV rows below the header for each benchmark's goal and scale, and how "
                   "settings were chosen, as --scores FILE of other commands reads them");
  command->AddFlag("--columns", flags->columns,
                   "The same for programs, as binary columns (docs/python.md); not of a bundle");
  command->Footer(
      "Means over seeds, ± their standard deviation. Works while the sweep runs.\n"
      "Examples:\n  concur scores demo\n  concur scores s12 -o csv --meta > scores.csv");
  OnRun(command, context, [flags, &context] { return PrintScores(context, *flags); });
}

}  // namespace concur::cli
