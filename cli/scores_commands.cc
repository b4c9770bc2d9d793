#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/markup.h"
#include "analysis/score_table.h"
#include "analysis/selection.h"
#include "analysis/writers.h"
#include "base/status_macros.h"
#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/online_commands.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/study.h"
#include "cli/table_output.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

struct ScoresFlags {
  std::string sweep;
  std::string metric;
  std::string select;
  std::vector<std::string> where;
  std::string format;
  bool by_job = false;
};

absl::Status PrintByJob(CommandContext& context, Client& client, const ScoresFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Score> scores,
                          client.ListScores(flags.sweep, flags.metric));
  Listing listing({{"JOB"},
                   {"APPROACH"},
                   {"TRAIN"},
                   {"TEST"},
                   {"SETTING", true},
                   {"SEED", true},
                   {"METRIC"},
                   {"VALUE", true},
                   {"EXAMPLES", true},
                   {"STATE"}},
                  ScoreJson(v1::Score()), "No scores: the sweep evaluates nothing.");
  for (const v1::Score& score : scores) {
    listing.Add(
        {score.job(), LineText(score.approach(), 40), LineText(score.train_set(), 40),
         LineText(score.test_benchmark(), 40), absl::StrCat(score.setting_index()),
         absl::StrCat(score.seed()), score.metric(),
         score.has_value() ? absl::StrFormat("%.4f", score.value()) : "",
         score.examples() == 0 ? "" : CountText(score.examples()), StateText(score.state())},
        ScoreJson(score));
  }
  listing.Print(context);
  return absl::OkStatus();
}

absl::Status Scores(CommandContext& context, const ScoresFlags& flags) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  if (flags.by_job) {
    return PrintByJob(context, *client, flags);
  }
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table,
                          FetchScoreTable(*client, flags.sweep, flags.metric, flags.select));
  CONCUR_ASSIGN_OR_RETURN(table, table.Where(flags.where));
  if (!flags.format.empty()) {
    context.out << (flags.format == "latex" ? analysis::ScoresLatex(table)
                                            : analysis::ScoresMarkdown(table));
    return absl::OkStatus();
  }
  switch (context.output) {
    case OutputMode::kTable:
      context.out << analysis::ScoresText(table);
      break;
    case OutputMode::kJson:
      context.out << analysis::ScoresJson(table);
      break;
    case OutputMode::kJsonLines:
      context.out << analysis::ScoresJsonLines(table);
      break;
    case OutputMode::kCsv:
      context.out << analysis::ScoresCsv(table);
      break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<analysis::ScoreTable> FetchScoreTable(Client& client, const std::string& sweep,
                                                     const std::string& metric,
                                                     const std::string& select) {
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep found, client.GetSweep(sweep, /*include_spec=*/true));
  // By id from here on: a newer sweep may take the name meanwhile.
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Score> scores,
                          client.ListScores(found.id(), metric));
  analysis::SelectionOptions options = SelectionOptionsOf(found.spec());
  if (!select.empty()) {
    CONCUR_ASSIGN_OR_RETURN(options.select, analysis::ParseSelect(select));
  }
  std::vector<analysis::ScoreRecord> records;
  records.reserve(scores.size());
  for (const v1::Score& score : scores) {
    const std::optional<analysis::CellState> state = CellStateOf(score.state(), score.has_value());
    if (!state) {
      continue;
    }
    analysis::ScoreRecord record;
    record.approach = score.approach();
    // An approach that needs no training counts as trained on what it is tested on.
    record.train = score.train_set().empty() ? score.test_benchmark() : score.train_set();
    record.setting = score.setting_index();
    record.seed = score.seed();
    record.test = score.test_benchmark();
    record.value = score.value();
    record.examples = score.examples();
    record.state = *state;
    records.push_back(std::move(record));
  }
  return analysis::BuildScoreTable(records, options);
}

void AddScoresCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("scores", "What every approach of a sweep scored on every benchmark");
  const auto flags = std::make_shared<ScoresFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by id or name")
      ->TypeName("SWEEP")
      ->Required();
  command->AddOption("--metric", flags->metric, "Default: each benchmark's own")->TypeName("NAME");
  command
      ->AddOption("--select", flags->select,
                  "How settings become one score: best, default, mean or each (default: as the "
                  "sweep says)")
      ->TypeName("RULE");
  command
      ->AddOption("--where", flags->where,
                  "Only approaches (or benchmarks) with a tag; repeat to ask for several")
      ->TypeName("TAG=VALUE")
      ->OneValueEach();
  AddFormatOption(command, flags->format);
  command->AddFlag("--by-job", flags->by_job, "Every score by itself, with those that are missing");
  command->Footer(
      "Means over seeds, ± their standard deviation. Works while the sweep runs.\n"
      "Examples:\n  concur scores demo\n  concur scores s12 -o csv > scores.csv");
  OnRun(command, context, [flags, &context] { return Scores(context, *flags); });
}

}  // namespace concur::cli
