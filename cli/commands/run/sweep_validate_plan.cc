// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/output/table_output.h"
#include "cli/sweep/check_data.h"
#include "cli/sweep/forecast.h"
#include "cli/sweep/found_programs.h"
#include "cli/sweep/made_files.h"
#include "cli/sweep/same_work.h"
#include "cli/sweep/submit.h"
#include "core/sweep/expansion.h"
#include "report/json_text.h"
#include "report/table.h"
#include "report/text.h"
#include "yaml/options_yaml.h"
#include "yaml/pools_yaml.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

using analysis::IntegerCell;
using analysis::TextCell;

struct FileFlags {
  std::string path;
  std::vector<std::string> variables;
  std::string coordinator;  // options whose pools the sweep must fit in
  bool data = false;        // a missing data file is an error
  bool check = false;       // read the data sets
  bool settings = false;    // list the settings
  bool commands = false;    // look for the programs of the commands
  ForecastFlags forecast;   // flags of plan
};

struct Opened {
  spec::LoadedSweep sweep;
  Expansion expansion;
  std::vector<std::string> warnings;
  size_t missing = 0;  // data files, each with a warning
};

absl::StatusOr<Opened> Open(const FileFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const auto variables, ParseVariables(flags.variables));
  CONCUR_ASSIGN_OR_RETURN(spec::LoadedSweep sweep, spec::LoadSweep(flags.path, variables));
  if (!flags.coordinator.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const spec::CoordinatorOptions options,
                            spec::LoadCoordinatorOptions(flags.coordinator));
    CONCUR_RETURN_IF_ERROR(spec::CheckPools(sweep, spec::LimitsOf(options)));
  }
  CONCUR_RETURN_IF_ERROR(spec::ResolveCode(&sweep));
  CONCUR_RETURN_IF_ERROR(spec::ResolveEnvironments(&sweep));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> missing, spec::MissingDataFiles(sweep));
  MadeFiles made;
  if (flags.data || (flags.check && missing.empty())) {
    CONCUR_ASSIGN_OR_RETURN(made, MakeFiles(&sweep));
    CONCUR_RETURN_IF_ERROR(spec::ResolveDataFiles(&sweep));
  }
  if (flags.check) {
    CONCUR_RETURN_IF_ERROR(CheckDataSets(sweep));
  }
  std::vector<std::string> warnings = sweep.left_out;
  warnings.insert(warnings.end(), sweep.warnings.begin(), sweep.warnings.end());
  warnings.insert(warnings.end(), missing.begin(), missing.end());
  const std::string path = SearchPath();
  DigestPrograms(path, &sweep);
  const std::vector<std::string> programs = WarnOfProgramsInNoCode(sweep, path, !flags.commands);
  warnings.insert(warnings.end(), programs.begin(), programs.end());
  CONCUR_ASSIGN_OR_RETURN(Expansion expansion, Expansion::Make(sweep.spec));
  const std::vector<std::string> same = WarnOfSameWork(expansion);
  warnings.insert(warnings.end(), same.begin(), same.end());
  return Opened{std::move(sweep), std::move(expansion), std::move(warnings), missing.size()};
}

// With JSON output they are in the record.
void ShowWarnings(const Opened& opened, CommandContext& context) {
  if (!IsJson(context)) {
    PrintWarnings(context, opened.warnings);
  }
}

// Counts for one approach, train set or benchmark.
struct Counts {
  std::string kind;
  std::string name;
  uint64_t settings = 0;
  uint64_t cells = 0;
  uint64_t train_jobs = 0;
  uint64_t eval_jobs = 0;
  uint64_t jobs() const { return train_jobs + eval_jobs; }
};

struct Plan {
  std::vector<Counts> approaches;
  std::vector<Counts> train_sets;
  std::vector<Counts> benchmarks;
  Counts total;

  // Every row, the total last.
  std::vector<Counts> Rows() const {
    std::vector<Counts> rows = approaches;
    rows.insert(rows.end(), train_sets.begin(), train_sets.end());
    rows.insert(rows.end(), benchmarks.begin(), benchmarks.end());
    rows.push_back(total);
    return rows;
  }
};

Plan MakePlan(const Expansion& expansion) {
  const SweepSpec& sweep = expansion.spec();
  Plan plan;
  plan.total.kind = "total";
  plan.total.name = sweep.name;
  for (const ApproachSpec& approach : sweep.approaches) {
    plan.approaches.push_back({"approach", approach.name});
  }
  for (const TrainSet& train_set : sweep.train_sets) {
    plan.train_sets.push_back({"train-set", train_set.name});
  }
  for (const BenchmarkSpec& benchmark : sweep.benchmarks) {
    plan.benchmarks.push_back({"benchmark", benchmark.name});
  }
  for (const Block& block : expansion.blocks()) {
    const uint64_t trains = block.has_train ? block.cells : 0;
    const uint64_t evals = uint64_t{block.cells} * block.tests.size();
    const auto add = [&](Counts& counts) {
      counts.settings = std::max<uint64_t>(counts.settings, block.settings);
      counts.cells += block.cells;
      counts.train_jobs += trains;
      counts.eval_jobs += evals;
    };
    add(plan.approaches[block.approach]);
    add(plan.total);
    if (block.has_train) {
      add(plan.train_sets[block.train_set]);
    }
    for (const uint32_t test : block.tests) {
      Counts& counts = plan.benchmarks[test];
      counts.settings = std::max<uint64_t>(counts.settings, block.settings);
      counts.cells += block.cells;
      counts.eval_jobs += block.cells;
    }
  }
  return plan;
}

// A row of counts each; `head` says what the rows are.
analysis::Table CountsTable(const std::string& head, const std::vector<Counts>& rows) {
  analysis::Table table;
  table.columns = {analysis::ForPrograms("kind"),
                   {"name", head},
                   {"settings", "settings", true},
                   {"cells", "cells", true},
                   {"train_jobs", "train jobs", true},
                   {"eval_jobs", "eval jobs", true},
                   {"jobs", "jobs", true}};
  table.columns[1].width_max = 0;
  for (const Counts& counts : rows) {
    table.rows.push_back({TextCell(counts.kind), TextCell(counts.name)});
    for (const uint64_t count :
         {counts.settings, counts.cells, counts.train_jobs, counts.eval_jobs, counts.jobs()}) {
      table.rows.back().push_back(analysis::UnsignedCell(count));
    }
  }
  return table;
}

Json SettingJson(const Setting& setting) {
  Json json = Json::object();
  for (const auto& [name, value] : setting) {
    if (const auto* written = std::get_if<WrittenNumber>(&value)) {
      double number = 0;
      json[name] = absl::SimpleAtod(written->text, &number) ? Json(number) : Json(written->text);
      continue;
    }
    std::visit(
        [&json, &key = name](const auto& v) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, WrittenNumber>) {
            json[key] = v;
          }
        },
        value);
  }
  return json;
}

Json ListJson(const std::vector<Counts>& rows) { return analysis::RowsJson(CountsTable("", rows)); }

// Calls use(approach name, index, setting) for every setting that some job has.
template <typename Use>
void ForEachSetting(const Expansion& expansion, Use use) {
  const SweepSpec& sweep = expansion.spec();
  for (uint32_t a = 0; a < sweep.approaches.size(); ++a) {
    const std::vector<Setting>& settings = expansion.Settings(a);
    for (uint32_t i = 0; i < settings.size(); ++i) {
      use(sweep.approaches[a].name, i, settings[i]);
    }
  }
}

void PrintPlanJson(const FileFlags& flags, const Opened& opened, const Plan& plan,
                   const std::optional<Forecast>& forecast, CommandContext& context) {
  const SweepSpec& sweep = opened.expansion.spec();
  Json json = {{"sweep", sweep.name},
               {"approaches", ListJson(plan.approaches)},
               {"train_sets", ListJson(plan.train_sets)},
               {"benchmarks", ListJson(plan.benchmarks)},
               {"seeds", sweep.seeds.size()},
               {"cells", plan.total.cells},
               {"train_jobs", plan.total.train_jobs},
               {"eval_jobs", plan.total.eval_jobs},
               {"jobs", plan.total.jobs()},
               {"warnings", opened.warnings}};
  if (const auto& early_stop = sweep.early_stop) {
    json["early_stop"] = {{"method", std::string(EarlyStopMethodName(early_stop->rule.method))},
                          {"metric", early_stop->metric},
                          {"minimize", early_stop->rule.minimize},
                          {"min", early_stop->rule.min},
                          {"max", early_stop->rule.max},
                          {"eta", early_stop->rule.eta}};
  }
  if (const auto& search = sweep.search) {
    json["search"] = {{"method", "tpe"},
                      {"trials", sweep.random_settings + 1},
                      {"parallel", search->parallel},
                      {"by", search->on_test ? "test" : "validation"}};
  }
  if (forecast) {
    json["forecast"] = ForecastJson(*forecast, flags.forecast.price);
  }
  if (flags.settings) {
    json["settings"] = Json::array();
    ForEachSetting(opened.expansion, [&json](const std::string& approach, uint32_t index,
                                             const Setting& setting) {
      json["settings"].push_back(
          {{"approach", approach}, {"index", index}, {"setting", SettingJson(setting)}});
    });
  }
  PrintJson(context, json);
}

void PrintSettings(const Expansion& expansion, CommandContext& context) {
  analysis::Table table =
      ListTable({{"approach"}, {"index", true}, {.name = "setting", .wraps = true}});
  ForEachSetting(
      expansion, [&table](const std::string& approach, uint32_t index, const Setting& setting) {
        table.rows.push_back(
            {TextCell(approach), IntegerCell(index), TextCell(concur::SettingText(setting))});
      });
  PrintRows(table, context);
}

void PrintPlanTable(const FileFlags& flags, const Opened& opened, const Plan& plan,
                    CommandContext& context) {
  for (const auto& [head, rows] :
       {std::make_pair("approach", &plan.approaches), std::make_pair("train set", &plan.train_sets),
        std::make_pair("benchmark", &plan.benchmarks)}) {
    if (!rows->empty()) {
      PrintRows(CountsTable(head, *rows), context);
      context.out << "\n";
    }
  }
  if (flags.settings) {
    PrintSettings(opened.expansion, context);
    context.out << "\n";
  }
  context.out << absl::StrCat(
      "total: ", plan.total.jobs(), " jobs (", plan.total.train_jobs, " train, ",
      plan.total.eval_jobs, " eval) in ", plan.total.cells, " cells, ",
      analysis::Counted(opened.expansion.spec().seeds.size(), "seed"), "\n");
  if (const auto& search = opened.expansion.spec().search) {
    context.out << "search: each approach on each train set has "
                << SettingsText(opened.expansion.spec()) << ", " << search->parallel
                << " at a time\n";
  }
  if (const auto& early_stop = opened.expansion.spec().early_stop) {
    // The jobs of a plan are all that there could be.
    context.out << "early_stop: settings of an approach, train set and seed stop by "
                << EarlyStopText(*early_stop) << "; those that stop are not evaluated\n";
  }
}

absl::Status RunPlan(const FileFlags& flags, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const Opened opened, Open(flags));
  const Plan plan = MakePlan(opened.expansion);
  ShowWarnings(opened, context);
  std::optional<Forecast> forecast;
  if (flags.forecast.workers > 0 || !flags.forecast.durations.empty()) {
    CONCUR_ASSIGN_OR_RETURN(forecast,
                            MakeForecast(context, flags.forecast, opened.expansion.spec()));
  }
  if (context.output == OutputMode::kJson) {
    PrintPlanJson(flags, opened, plan, forecast, context);
  } else if (context.output == OutputMode::kCsv && flags.settings) {
    PrintSettings(opened.expansion, context);
  } else if (context.output != OutputMode::kTable) {
    PrintRows(CountsTable("", plan.Rows()), context);
  } else {
    PrintPlanTable(flags, opened, plan, context);
    if (forecast) {
      for (const auto& [name, value] : ForecastLines(*forecast, flags.forecast.price)) {
        if (name != "jobs" && !value.empty()) {
          context.out << name << ": " << value << "\n";
        }
      }
    }
  }
  return absl::OkStatus();
}

Json ProgramsJson(const std::vector<FoundProgram>& programs) {
  Json list = Json::array();
  for (const FoundProgram& program : programs) {
    Json where = program.where.empty() ? Json(nullptr) : Json(program.where);
    list.push_back({{"program", program.name},
                    {"found", std::move(where)},
                    {"approaches", program.approaches}});
  }
  return list;
}

void PrintProgramsTable(const std::vector<FoundProgram>& programs, CommandContext& context) {
  analysis::Table table = ListTable({{"program"}, {"approaches", true}, {"on this machine"}});
  for (const FoundProgram& program : programs) {
    table.rows.push_back({TextCell(program.name),
                          IntegerCell(static_cast<int64_t>(program.approaches.size())),
                          TextCell(program.where.empty() ? "not found" : program.where)});
  }
  PrintRows(table, context);
  context.out << "\n";
}

// Without validation sets.
size_t BenchmarkCount(const SweepSpec& sweep) {
  return static_cast<size_t>(
      std::count_if(sweep.benchmarks.begin(), sweep.benchmarks.end(),
                    [](const BenchmarkSpec& benchmark) { return !benchmark.validation_of; }));
}

absl::Status RunValidateSweep(const FileFlags& flags, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(Opened opened, Open(flags));
  const SweepSpec& sweep = opened.expansion.spec();
  std::vector<FoundProgram> programs;
  if (flags.commands) {
    programs = FindPrograms(opened.sweep, SearchPath());
  }
  ShowWarnings(opened, context);
  const uint32_t jobs = opened.expansion.job_count();
  switch (context.output) {
    case OutputMode::kJson:
    case OutputMode::kJsonLines: {
      Json json = {{"valid", true},
                   {"sweep", sweep.name},
                   {"approaches", sweep.approaches.size()},
                   {"benchmarks", BenchmarkCount(sweep)},
                   {"jobs", jobs},
                   {"warnings", opened.warnings}};
      if (flags.commands) {
        json["programs"] = ProgramsJson(programs);
      }
      PrintJson(context, json);
      break;
    }
    case OutputMode::kCsv: {
      analysis::Table table =
          ListTable({{"valid"}, {"sweep"}, {"approaches"}, {"benchmarks"}, {"jobs"}, {"warnings"}});
      table.rows = {TextCells({"true", sweep.name, absl::StrCat(sweep.approaches.size()),
                               absl::StrCat(BenchmarkCount(sweep)), absl::StrCat(jobs),
                               absl::StrCat(opened.warnings.size())})};
      PrintRows(table, context);
      break;
    }
    case OutputMode::kTable:
      if (flags.commands) {
        PrintProgramsTable(programs, context);
      }
      context.out << absl::StrCat(
          flags.path, ": valid: sweep ", sweep.name, " with ",
          analysis::Counted(sweep.approaches.size(), "approach", "es"), ", ",
          analysis::Counted(BenchmarkCount(sweep), "benchmark"), " and ",
          analysis::Counted(jobs, "job"),
          opened.missing == 0 ? "" : "; not to be submitted while data is missing", "\n");
      break;
  }
  return CheckPrograms(programs);
}

void AddFileOptions(Command* command, const std::shared_ptr<FileFlags>& flags) {
  command->AddOption("FILE", flags->path, "The sweep file")->Required();
  command
      ->AddOption("--var", flags->variables,
                  "NAME=VALUE of a variable that the file declares; repeatable")
      ->TypeName("NAME=VALUE");
  command
      ->AddOption("--coordinator", flags->coordinator,
                  "Options file of a coordinator whose pools the sweep must fit in")
      ->TypeName("FILE");
  command->AddFlag("--data", flags->data, "A missing data file is an error, not a warning");
}

}  // namespace

void AddSweepFileCommands(Command& sweep_app, CommandContext& context) {
  const auto validate_flags = std::make_shared<FileFlags>();  // shared with the stored callback
  Command* validate =
      sweep_app.AddSubcommand("validate", "Check a sweep file and all that it names");
  AddFileOptions(validate, validate_flags);
  const auto no_check = std::make_shared<bool>(false);  // shared with the stored callback
  validate->AddFlag("--no-check", *no_check,
                    "Do not read the data sets, which may be huge: look only whether they are "
                    "files");
  validate->AddFlag(
      "--commands", validate_flags->commands,
      "Look for the programs and scripts that the commands start, on this machine and "
      "in the approaches' code; a missing one is an error");
  validate->Footer(
      "Examples:\n  concur sweep validate study.yaml\n  concur sweep validate study.yaml --var "
      "data=/data --commands --data");
  OnRun(validate, context, [validate_flags, no_check, &context] {
    validate_flags->check = !*no_check;
    return RunValidateSweep(*validate_flags, context);
  });

  const auto plan_flags = std::make_shared<FileFlags>();  // shared with the stored callback
  Command* plan =
      sweep_app.AddSubcommand("plan", "Count the jobs of a sweep file before anything runs");
  AddFileOptions(plan, plan_flags);
  plan->AddFlag("--settings", plan_flags->settings, "List the sampled settings");
  AddForecastOptions(plan, plan_flags->forecast);
  plan->Footer(
      "With --workers or --durations also how long it takes, as `concur sweep simulate` forecasts "
      "it.\n"
      "Examples:\n  concur sweep plan study.yaml --settings\n"
      "  concur sweep plan study.yaml --workers 16 --slots 1 --durations durations.csv");
  OnRun(plan, context, [plan_flags, &context] { return RunPlan(*plan_flags, context); });
}

}  // namespace concur::cli
