// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/app/companion.h"
#include "cli/app/context.h"
#include "cli/commands/commands.h"
#include "cli/commands/data/data_fetch.h"
#include "cli/data/parameter_options.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "qa/builders/builder.h"
#include "qa/builders/parameters.h"
#include "qa/importers/importer.h"
#include "report/table.h"

namespace concur::cli {
namespace {

using analysis::IntegerCell;
using analysis::TextCell;
using analysis::UnsignedCell;

// --- concur data build, list ---

absl::Status RunBuild(qa::BuildRequest& request, CommandContext& context) {
  int64_t shown = -1;
  if (context.err_is_terminal) {
    request.progress = [&](int64_t done, int64_t total) {
      const int64_t percent = total == 0 ? 100 : done * 100 / total;
      if (percent != shown) {
        shown = percent;
        context.err << "\rbuilding " << request.builder << ": " << percent << " % (" << done
                    << " of " << total << " questions)" << std::flush;
      }
    };
  }
  absl::StatusOr<qa::BuildResult> built = qa::Build(request);
  if (shown >= 0) {
    context.err << "\r\033[K" << std::flush;
  }
  CONCUR_RETURN_IF_ERROR(built.status());
  analysis::Table table = ListTable({{"split"},
                                     {"path"},
                                     {"passages", true},
                                     {"questions", true},
                                     {.name = "builder", .drop = 2},
                                     {.name = "version", .drop = 2},
                                     {.name = "seed", .is_number = true, .drop = 1},
                                     {.name = "sha256", .drop = 3}});
  for (const auto& [name, file] :
       {std::make_pair("train", built->train), std::make_pair("test", built->test)}) {
    table.rows.push_back({TextCell(name), TextCell(file.path), IntegerCell(file.passages),
                          IntegerCell(file.questions), TextCell(request.builder),
                          TextCell(built->version), UnsignedCell(request.seed),
                          TextCell(file.sha256)});
  }
  PrintRows(table, context);
  return absl::OkStatus();
}

void AddBuild(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "build", "write DIR/train.jsonl and DIR/test.jsonl of a benchmark, from a seed");
  const auto request = std::make_shared<qa::BuildRequest>();
  const auto given = std::make_shared<GivenParameters>();
  command->AddOption("name", request->builder, "the builder; see concur data list")->Required();
  command->AddOption("--out", request->directory, "directory to write to")->Required();
  command->AddOption("--seed", request->seed, "fixes every random choice")->ShowDefault();
  command->AddFlag("--gzip", request->gzip, "write .jsonl.gz");
  AddParameterOptions(*command, qa::Builders(), given);
  command->Footer(
      "Examples:\n  concur data build fuzzy --out data/fuzzy\n  concur data build cloze --out "
      "data/cloze --seed 7 --train-questions 600 --gzip");
  OnRun(command, context, [request, given, command, &context] {
    CONCUR_RETURN_IF_ERROR(TakeExtraParameters("data build", command->Extras(), *given));
    request->parameters = *given;
    return RunBuild(*request, context);
  });
}

// The parameters of a builder or, if there is none of this name, of an importer.
absl::StatusOr<const std::vector<qa::ParameterInfo>*> FindParameters(const std::string& name) {
  if (const auto builder = qa::FindBuilder(name); builder.ok()) {
    return &(*builder)->parameters;
  }
  if (const auto importer = qa::FindImporter(name); importer.ok()) {
    return &(*importer)->parameters;
  }
  return absl::NotFoundError(absl::StrCat(qa::FindBuilder(name).status().message(), "; ",
                                          qa::FindImporter(name).status().message()));
}

absl::Status RunList(const std::string& name, CommandContext& context) {
  if (name.empty()) {
    analysis::Table table = ListTable({{"command"}, {"name"}, {.name = "makes", .wraps = true}});
    for (const qa::BuilderInfo& builder : qa::Builders()) {
      table.rows.push_back(TextCells({"build", builder.name, builder.summary}));
    }
    for (const qa::ImporterInfo& importer : qa::Importers()) {
      table.rows.push_back(TextCells({"import", importer.name, importer.summary}));
    }
    PrintRows(table, context);
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<qa::ParameterInfo>* const parameters,
                          FindParameters(name));
  analysis::Table table =
      ListTable({{"parameter"}, {"default"}, {.name = "meaning", .wraps = true}});
  for (const qa::ParameterInfo& parameter : *parameters) {
    std::string meaning = parameter.help;
    if (!parameter.choices.empty()) {
      absl::StrAppend(&meaning, " (", absl::StrJoin(parameter.choices, ", "), ")");
    }
    table.rows.push_back(TextCells({"--" + parameter.name, parameter.default_value, meaning}));
  }
  PrintRows(table, context);
  return absl::OkStatus();
}

void AddList(Command& data, CommandContext& context) {
  Command* const command =
      data.AddSubcommand("list", "builders and importers, or the parameters of one of them");
  const auto name = std::make_shared<std::string>();
  command->AddOption("name", *name, "a builder or an importer");
  command->Footer("Examples:\n  concur data list\n  concur data list cloze");
  OnRun(command, context, [name, &context] { return RunList(*name, context); });
}

}  // namespace

void AddDataCommands(Command& app, CommandContext& context) {
  Command* const data = app.AddSubcommand(
      "data", "Fetch, import, build, derive and check data sets, and score predictions");
  data->RequireSubcommand();
  AddBuild(*data, context);
  AddFetchCommand(*data, context, [](const FetchOptions&, CommandContext& command_context) {
    return RunCompanion("concur-fetch", command_context);
  });
  AddImportCommand(*data, context);
  AddList(*data, context);
  AddDataSetCommands(*data, context);
  AddDataScoreCommand(*data, context);
}

}  // namespace concur::cli
