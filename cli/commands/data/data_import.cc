// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/app/context.h"
#include "cli/commands/commands.h"
#include "cli/data/input_option.h"
#include "cli/data/parameter_options.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "qa/importers/importer.h"
#include "report/table.h"

namespace concur::cli {
namespace {

// One row for what was read, one for each file, one for each reason.
analysis::Table ReportOf(const qa::ImportResult& result) {
  analysis::Table table = ListTable({{"outcome"}, {"questions", true}, {"detail"}, {"first"}});
  const auto add = [&table](const char* outcome, int64_t questions, const std::string& detail,
                            const std::string& first) {
    table.rows.push_back({analysis::TextCell(outcome), analysis::IntegerCell(questions),
                          analysis::TextCell(detail), analysis::TextCell(first)});
  };
  const qa::ImportCounts& counts = result.counts;
  add("read", counts.read, "", "");
  for (const qa::ImportedFile& file : result.files) {
    add("kept", file.questions, absl::StrCat(file.path, " (", file.passages, " passages)"), "");
  }
  if (counts.unsampled > 0) {
    add("not drawn", counts.unsampled, "", "");
  }
  for (const auto& [reason, count] : counts.dropped) {
    add("dropped", count.count, reason, count.first_place);
  }
  if (counts.dropped.empty()) {
    add("dropped", 0, "", "");
  }
  for (const auto& [what, count] : counts.noted) {
    add("noted", count.count, what, count.first_place);
  }
  return table;
}

absl::Status RunImport(qa::ImportRequest& request, CommandContext& context) {
  if (context.err_is_terminal) {
    request.progress = [&](int64_t read) {
      context.err << "\rimporting " << request.format << ": " << read << " questions" << std::flush;
    };
  }
  const absl::StatusOr<qa::ImportResult> result = qa::Import(request);
  if (context.err_is_terminal) {
    context.err << "\r\033[K" << std::flush;
  }
  CONCUR_RETURN_IF_ERROR(result.status());
  PrintRows(ReportOf(*result), context);
  return absl::OkStatus();
}

}  // namespace

void AddImportCommand(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "import", "raw files of a published benchmark as MRQA JSON lines, with what was dropped");
  std::vector<std::string> names;
  for (const qa::ImporterInfo& importer : qa::Importers()) {
    names.push_back(importer.name);
  }
  const auto request = std::make_shared<qa::ImportRequest>();
  const auto given = std::make_shared<GivenParameters>();
  command->AddOption("format", request->format, "one of: " + absl::StrJoin(names, ", "))
      ->Required();
  AddInput(*command, request->in, "raw files, plain or gzipped");
  command
      ->AddOption("--out", request->out,
                  "file to write, gzipped when it ends in .gz; for babi a directory")
      ->Required();
  command->AddOption("--seed", request->seed, "fixes a random subsample")->ShowDefault();
  command->AddFlag("--strict", request->strict, "a dropped question is an error");
  AddParameterOptions(*command, qa::Importers(), given);
  command->Footer(
      "Examples:\n  concur data import squad train-v1.1.json --out squad-train.jsonl.gz\n  concur "
      "data import qamr dev.tsv --sentences wiki.tsv --out qamr-dev.jsonl\n  concur data "
      "import babi qa1_train.txt qa2_train.txt --out babi --strict");
  OnRun(command, context, [request, given, command, &context] {
    CONCUR_RETURN_IF_ERROR(TakeExtraParameters("data import", command->Extras(), *given));
    request->parameters = *given;
    return RunImport(*request, context);
  });
}

}  // namespace concur::cli
