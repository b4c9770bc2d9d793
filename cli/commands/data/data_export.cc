// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/commands/commands.h"
#include "cli/data/input_option.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/json_export.h"
#include "report/table.h"

namespace concur::cli {
namespace {

struct ExportOptions {
  std::string format;
  std::string in;
  std::string out;
  bool drop_unlocated = false;
};

absl::Status RunExport(const ExportOptions& options, CommandContext& context) {
  if (options.format != "squad" && options.format != "transformers") {
    return absl::InvalidArgumentError(
        absl::StrCat("format: ", ExpectedOneOf({"squad", "transformers"}, options.format)));
  }
  qa::JsonExport exporter(
      {.flat = options.format == "transformers", .drop_unlocated = options.drop_unlocated});
  std::string text;
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(options.in, [&](const qa::Passage& passage) {
    exporter.Add(passage, text);
    return absl::OkStatus();
  }));
  const qa::JsonExport::Counts counts = exporter.counts();
  if (counts.questions == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.in, ": expected a question whose answer stands in its passage, found none"));
  }
  exporter.Finish(text);
  CONCUR_RETURN_IF_ERROR(WriteOutput(options.out, text));
  analysis::Table table = ListTable({{"path"}, {"questions", true}, {"unlocated", true}});
  table.rows = {{analysis::TextCell(options.out), analysis::IntegerCell(counts.questions),
                 analysis::IntegerCell(counts.unlocated)}};
  PrintRows(table, context);
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "export", "a data set in the form that other programs read, from SQuAD JSON or MRQA lines");
  const auto options = std::make_shared<ExportOptions>();
  command
      ->AddOption("format", options->format,
                  "squad: SQuAD v1.1 JSON; transformers: one record a question, as Hugging Face's "
                  "run_qa.py reads it")
      ->Required();
  AddInput(*command, options->in);
  command->AddOption("--out", options->out, "file to write")->Required()->TypeName("FILE");
  command->AddFlag("--drop-unlocated", options->drop_unlocated,
                   "leave out questions of which no answer stands in the passage, which nothing "
                   "can be learned from; without it their answers are placed at 0");
  command->Footer(
      "Examples:\n  concur data export squad dev.jsonl --out dev.json\n  concur data export "
      "transformers dev.jsonl --out dev.json --drop-unlocated");
  OnRun(command, context, [options, &context] { return RunExport(*options, context); });
}

}  // namespace concur::cli
