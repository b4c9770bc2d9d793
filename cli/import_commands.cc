#include "cli/import_commands.h"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/parameter_options.h"
#include "cli/records.h"
#include "qa/importers/importer.h"

namespace concur::cli {
namespace {

// One row for what was read, one for each file, one for each reason.
Records ReportOf(const qa::ImportResult& result) {
  Records records{{{"outcome"}, {"questions", true}, {"detail"}, {"first"}}, {}};
  const qa::ImportCounts& counts = result.counts;
  records.rows.push_back({"read", absl::StrCat(counts.read), "", ""});
  for (const qa::ImportedFile& file : result.files) {
    records.rows.push_back({"kept", absl::StrCat(file.questions),
                            absl::StrCat(file.path, " (", file.passages, " passages)"), ""});
  }
  if (counts.unsampled > 0) {
    records.rows.push_back({"not drawn", absl::StrCat(counts.unsampled), "", ""});
  }
  for (const auto& [reason, count] : counts.dropped) {
    records.rows.push_back({"dropped", absl::StrCat(count.count), reason, count.first_place});
  }
  if (counts.dropped.empty()) {
    records.rows.push_back({"dropped", "0", "", ""});
  }
  for (const auto& [what, count] : counts.noted) {
    records.rows.push_back({"noted", absl::StrCat(count.count), what, count.first_place});
  }
  return records;
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
  Print(ReportOf(*result), context);
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
  command->AddOption("--in", request->in, "raw files, plain or gzipped; repeat it")
      ->Required()
      ->TypeName("FILE");
  command
      ->AddOption("--out", request->out,
                  "file to write, gzipped when it ends in .gz; for babi a directory")
      ->Required();
  command->AddOption("--seed", request->seed, "fixes a random subsample")->ShowDefault();
  command->AddFlag("--strict", request->strict, "a dropped question is an error");
  AddParameterOptions(*command, qa::Importers(), given);
  OnRun(command, context, [request, given, command, &context] {
    CONCUR_RETURN_IF_ERROR(TakeExtraParameters("data import", command->Extras(), *given));
    request->parameters = *given;
    return RunImport(*request, context);
  });
}

}  // namespace concur::cli
