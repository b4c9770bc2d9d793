#include "cli/sweep_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/csv.h"
#include "base/status_macros.h"
#include "cli/command_line.h"
#include "cli/command_programs.h"
#include "cli/forecast.h"
#include "core/expansion.h"
#include "spec/options_yaml.h"
#include "spec/pools_yaml.h"
#include "spec/sweep_yaml.h"

namespace concur::cli {
namespace {

struct FileFlags {
  std::string path;
  std::vector<std::string> variables;
  std::string coordinator;  // options whose pools the sweep must fit in
  bool data = false;        // read the data files
  bool settings = false;    // list the settings
  bool commands = false;    // look for the programs of the commands
  ForecastFlags forecast;   // of plan
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
  std::vector<std::string> warnings = sweep.warnings;
  size_t missing_files = 0;
  if (flags.data) {
    CONCUR_RETURN_IF_ERROR(spec::ResolveDataFiles(&sweep));
  } else {
    for (std::string& missing : spec::MissingDataFiles(sweep)) {
      warnings.push_back(std::move(missing));
      ++missing_files;
    }
  }
  CONCUR_ASSIGN_OR_RETURN(Expansion expansion, Expansion::Make(sweep.spec));
  return Opened{std::move(sweep), std::move(expansion), std::move(warnings), missing_files};
}

void PrintWarnings(const Opened& opened, CommandContext& context) {
  if (!IsJson(context)) {
    for (const std::string& warning : opened.warnings) {
      context.err << "warning: " << warning << "\n";
    }
  }
}

// What one approach, train set or benchmark has to do with.
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

Json CountsJson(const Counts& counts) {
  return Json{{"kind", counts.kind},
              {"name", counts.name},
              {"settings", counts.settings},
              {"cells", counts.cells},
              {"train_jobs", counts.train_jobs},
              {"eval_jobs", counts.eval_jobs},
              {"jobs", counts.jobs()}};
}

Json SettingJson(const Setting& setting) {
  Json json = Json::object();
  for (const auto& [name, value] : setting) {
    std::visit([&json, &key = name](const auto& v) { json[key] = v; }, value);
  }
  return json;
}

Json ListJson(const std::vector<Counts>& rows) {
  Json list = Json::array();
  for (const Counts& counts : rows) {
    list.push_back(CountsJson(counts));
  }
  return list;
}

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
  if (context.output == OutputMode::kJsonLines) {
    for (const Counts& counts : plan.Rows()) {
      context.out << CountsJson(counts).dump() << "\n";
    }
    return;
  }
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
  context.out << json.dump(2) << "\n";
}

void PrintPlanCsv(const FileFlags& flags, const Opened& opened, const Plan& plan,
                  CommandContext& context) {
  if (flags.settings) {
    context.out << "approach,index,setting\n";
    ForEachSetting(opened.expansion,
                   [&context](const std::string& approach, uint32_t index, const Setting& setting) {
                     context.out << approach << "," << index << ","
                                 << analysis::CsvField(SettingText(setting)) << "\n";
                   });
    return;
  }
  context.out << "kind,name,settings,cells,train_jobs,eval_jobs,jobs\n";
  for (const Counts& counts : plan.Rows()) {
    context.out << absl::StrCat(counts.kind, ",", analysis::CsvField(counts.name), ",",
                                counts.settings, ",", counts.cells, ",", counts.train_jobs, ",",
                                counts.eval_jobs, ",", counts.jobs(), "\n");
  }
}

void PrintCountsTable(const char* head, const std::vector<Counts>& rows, std::ostream& out) {
  if (rows.empty()) {
    return;
  }
  size_t width = std::string(head).size();
  for (const Counts& counts : rows) {
    width = std::max(width, counts.name.size());
  }
  const auto line = [&](const std::string& name, const std::string& settings,
                        const std::string& cells, const std::string& trains,
                        const std::string& evals, const std::string& jobs) {
    out << absl::StrFormat("%-*s  %8s  %10s  %10s  %10s  %10s\n", static_cast<int>(width), name,
                           settings, cells, trains, evals, jobs);
  };
  line(head, "settings", "cells", "train jobs", "eval jobs", "jobs");
  for (const Counts& counts : rows) {
    line(counts.name, absl::StrCat(counts.settings), absl::StrCat(counts.cells),
         absl::StrCat(counts.train_jobs), absl::StrCat(counts.eval_jobs),
         absl::StrCat(counts.jobs()));
  }
  out << "\n";
}

void PrintPlanTable(const FileFlags& flags, const Opened& opened, const Plan& plan,
                    CommandContext& context) {
  PrintCountsTable("approach", plan.approaches, context.out);
  PrintCountsTable("train set", plan.train_sets, context.out);
  PrintCountsTable("benchmark", plan.benchmarks, context.out);
  if (flags.settings) {
    ForEachSetting(opened.expansion, [&context](const std::string& approach, uint32_t index,
                                                const Setting& setting) {
      context.out << approach << ", setting " << index << ": " << SettingText(setting) << "\n";
    });
    context.out << "\n";
  }
  context.out << absl::StrCat("total: ", plan.total.jobs(), " jobs (", plan.total.train_jobs,
                              " train, ", plan.total.eval_jobs, " eval) in ", plan.total.cells,
                              " cells, ", opened.expansion.spec().seeds.size(), " seeds\n");
}

absl::Status RunPlan(const FileFlags& flags, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const Opened opened, Open(flags));
  const Plan plan = MakePlan(opened.expansion);
  PrintWarnings(opened, context);
  std::optional<Forecast> forecast;
  if (flags.forecast.workers > 0 || !flags.forecast.durations.empty()) {
    CONCUR_ASSIGN_OR_RETURN(forecast,
                            MakeForecast(context, flags.forecast, opened.expansion.spec()));
  }
  if (IsJson(context)) {
    PrintPlanJson(flags, opened, plan, forecast, context);
  } else if (context.output == OutputMode::kCsv) {
    PrintPlanCsv(flags, opened, plan, context);
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

// A program that commands start: where it is on this machine ("" when nowhere) and who needs it.
struct FoundProgram {
  std::string name;
  std::string where;
  std::set<std::string> approaches;
};

std::vector<FoundProgram> FindPrograms(const SweepSpec& sweep) {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): never set here
  std::vector<FoundProgram> programs;
  for (const auto& [name, approaches] : ProgramsOf(sweep)) {
    programs.push_back({name, FindProgram(name, path == nullptr ? "" : path), approaches});
  }
  return programs;
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

void PrintProgramsTable(const std::vector<FoundProgram>& programs, std::ostream& out) {
  size_t width = 7;
  for (const FoundProgram& program : programs) {
    width = std::max(width, program.name.size());
  }
  const auto line = [&](const std::string& name, const std::string& users,
                        const std::string& where) {
    out << absl::StrFormat("%-*s  %10s  %s\n", static_cast<int>(width), name, users, where);
  };
  line("program", "approaches", "on this machine");
  for (const FoundProgram& program : programs) {
    line(program.name, absl::StrCat(program.approaches.size()),
         program.where.empty() ? "not found" : program.where);
  }
  out << "\n";
}

// FailedPrecondition when this machine lacks a program.
absl::Status CheckPrograms(const std::vector<FoundProgram>& programs) {
  std::vector<std::string> missing;
  std::set<std::string> approaches;
  for (const FoundProgram& program : programs) {
    if (program.where.empty()) {
      missing.push_back(program.name);
      approaches.insert(program.approaches.begin(), program.approaches.end());
    }
  }
  if (missing.empty()) {
    return absl::OkStatus();
  }
  constexpr size_t kShownMax = 3;
  const std::vector<std::string> shown(
      missing.begin(),
      missing.begin() + static_cast<ptrdiff_t>(std::min(missing.size(), kShownMax)));
  return absl::FailedPreconditionError(
      absl::StrCat(missing.size(), " of ", programs.size(), " programs, which ", approaches.size(),
                   approaches.size() == 1 ? " approach needs" : " approaches need",
                   ", were not found on this machine: ", absl::StrJoin(shown, ", "),
                   missing.size() > kShownMax ? ", …" : "",
                   "; install them on every worker, or run this where the workers run"));
}

absl::Status RunValidate(const FileFlags& flags, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const Opened opened, Open(flags));
  const SweepSpec& sweep = opened.expansion.spec();
  PrintWarnings(opened, context);
  const std::vector<FoundProgram> programs =
      flags.commands ? FindPrograms(sweep) : std::vector<FoundProgram>();
  const uint32_t jobs = opened.expansion.job_count();
  switch (context.output) {
    case OutputMode::kJson:
    case OutputMode::kJsonLines: {
      Json json = {{"valid", true},
                   {"sweep", sweep.name},
                   {"approaches", sweep.approaches.size()},
                   {"benchmarks", sweep.benchmarks.size()},
                   {"jobs", jobs},
                   {"warnings", opened.warnings}};
      if (flags.commands) {
        json["programs"] = ProgramsJson(programs);
      }
      context.out << json.dump(context.output == OutputMode::kJson ? 2 : -1) << "\n";
      break;
    }
    case OutputMode::kCsv:
      context.out << "valid,sweep,approaches,benchmarks,jobs,warnings\n"
                  << absl::StrCat("true,", sweep.name, ",", sweep.approaches.size(), ",",
                                  sweep.benchmarks.size(), ",", jobs, ",", opened.warnings.size(),
                                  "\n");
      break;
    case OutputMode::kTable:
      if (flags.commands) {
        PrintProgramsTable(programs, context.out);
      }
      context.out << absl::StrCat(
          flags.path, ": valid: sweep ", sweep.name, " with ", sweep.approaches.size(),
          " approaches, ", sweep.benchmarks.size(), " benchmarks and ", jobs, " jobs",
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
  command->AddFlag("--data", flags->data,
                   "Read the data files too: a missing one is an error, not a warning");
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseVariables(
    const std::vector<std::string>& flags) {
  std::map<std::string, std::string> variables;
  for (const std::string& flag : flags) {
    const size_t equals = flag.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--var: expected NAME=VALUE, got \"", flag, "\""));
    }
    if (!variables.emplace(flag.substr(0, equals), flag.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(absl::StrCat("--var: expected each variable once, got \"",
                                                     flag.substr(0, equals), "\" again"));
    }
  }
  return variables;
}

void AddSweepFileCommands(Command& sweep_app, CommandContext& context) {
  const auto validate_flags = std::make_shared<FileFlags>();  // shared with the stored callback
  Command* validate =
      sweep_app.AddSubcommand("validate", "Check a sweep file and all that it names");
  AddFileOptions(validate, validate_flags);
  validate->AddFlag("--commands", validate_flags->commands,
                    "Look for the programs that the commands start, on this machine; a missing one "
                    "is an error");
  OnRun(validate, context,
        [validate_flags, &context] { return RunValidate(*validate_flags, context); });

  const auto plan_flags = std::make_shared<FileFlags>();  // shared with the stored callback
  Command* plan =
      sweep_app.AddSubcommand("plan", "Count the jobs of a sweep file before anything runs");
  AddFileOptions(plan, plan_flags);
  plan->AddFlag("--settings", plan_flags->settings, "List the sampled settings");
  AddForecastOptions(plan, plan_flags->forecast);
  plan->Footer(
      "With --workers or --durations also how long it takes, as `concur simulate` forecasts it.");
  OnRun(plan, context, [plan_flags, &context] { return RunPlan(*plan_flags, context); });
}

}  // namespace concur::cli
