// `concur uncertainty`: how sure each coefficient of a matrix is, and what would make it surer.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/uncertainty.h"
#include "base/status_macros.h"
#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/example_folder.h"
#include "cli/matrix_commands.h"
#include "cli/online_commands.h"
#include "cli/study.h"
#include "cli/table_output.h"

namespace concur::cli {
namespace {

struct UncertaintyFlags {
  std::string sweep;
  std::string examples;
  std::string coefficient = "kendall";
  std::string metric;
  std::string select;
  std::vector<std::string> columns;
  std::string format;
  size_t top = analysis::kTopDefault;
  IntervalFlags interval;
};

absl::StatusOr<analysis::ExampleRuns> ReadFolder(const UncertaintyFlags& flags,
                                                 std::vector<std::string> columns) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<FolderBenchmark> folder,
                          ReadExampleFolder(flags.examples, std::move(columns)));
  analysis::ExampleRuns runs;
  for (const FolderBenchmark& benchmark : folder) {
    runs.approaches.clear();
    for (const NamedExamples& cell : benchmark.approaches) {
      runs.approaches.push_back(cell.approach);
      if (cell.runs.empty()) {
        runs.left_out.push_back(
            absl::StrCat(cell.approach, " on ", benchmark.name, ": no .jsonl file"));
      }
    }
    CONCUR_ASSIGN_OR_RETURN(
        analysis::BenchmarkRuns aligned,
        AlignRuns(benchmark.name, flags.metric.empty() ? "exact_match" : flags.metric,
                  benchmark.approaches));
    runs.benchmarks.push_back(std::move(aligned));
  }
  return runs;
}

absl::StatusOr<analysis::ExampleRuns> LoadRuns(const UncertaintyFlags& flags,
                                               CommandContext& context) {
  if (flags.sweep.empty() == flags.examples.empty()) {
    return absl::InvalidArgumentError("expected either SWEEP or --examples DIR");
  }
  std::vector<std::string> columns;
  for (const std::string& value : flags.columns) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> part, SplitNames("--columns", value));
    columns.insert(columns.end(), part.begin(), part.end());
  }
  if (flags.sweep.empty()) {
    return ReadFolder(flags, std::move(columns));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const Study study, FetchStudy(*client, flags.sweep));
  return ExampleRunsOf(study, flags.metric, flags.select, columns);
}

absl::Status RunUncertainty(const UncertaintyFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  analysis::UncertaintyOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.coefficient, analysis::ParseCoefficient(flags.coefficient));
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::BootstrapOptions> bootstrap,
                          BootstrapOf(flags.interval));
  if (!bootstrap.has_value()) {
    return absl::InvalidArgumentError(
        "interval: expected a number strictly between 0 and 1, got 0");
  }
  options.bootstrap = *bootstrap;
  options.bootstrap.top = flags.top;
  CONCUR_ASSIGN_OR_RETURN(const analysis::ExampleRuns runs, LoadRuns(flags, context));
  CONCUR_ASSIGN_OR_RETURN(const analysis::Uncertainty uncertainty,
                          analysis::ComputeUncertainty(runs, options));
  return PrintTable(analysis::UncertaintyTable(uncertainty), flags.format, context);
}

}  // namespace

void AddUncertaintyCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("uncertainty",
                        "How sure each coefficient is, and whether more seeds, test examples or "
                        "approaches would help");
  const auto flags = std::make_shared<UncertaintyFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by name or id")->TypeName("SWEEP");
  command
      ->AddOption("--examples", flags->examples,
                  "Per-example scores instead of a sweep: DIR/APPROACH/BENCHMARK/RUN.jsonl, each "
                  "as \"concur score --per-example\" writes it, a run being a seed")
      ->TypeName("DIR");
  command
      ->AddOption("--coefficient", flags->coefficient,
                  "kendall (tau-b), pearson, spearman, weighted-kendall or top-k")
      ->ShowDefault();
  command->AddOption("--top", flags->top, "How many are the best, for top-k")
      ->Positive()
      ->ShowDefault();
  command->AddOption("--metric", flags->metric, "exact_match or f1 (default: the benchmark's own)")
      ->TypeName("NAME");
  command
      ->AddOption("--select", flags->select,
                  "Which settings stand for an approach: best, default or mean, of which all "
                  "settings count as seeds (default: as the sweep says)")
      ->TypeName("RULE");
  command
      ->AddOption("--columns", flags->columns,
                  "Only these benchmarks, in this order; quote names that have commas")
      ->TypeName("A,B")
      ->OneValueEach();
  flags->interval.level = 0.95;
  flags->interval.replicates = 2000;
  AddIntervalOptions(command, flags->interval)->DefaultText("0.95");
  AddFormatOption(command, flags->format);
  command->Footer(
      "Hierarchical bootstrap over approaches, seeds and test examples. The shares say which of "
      "them\ncauses the variance of a pair; \"floor\" is the standard deviation that no number of "
      "seeds or test\nexamples can remove; \"shift by noise\" is how far noise moves the value on "
      "average.\n"
      "Examples:\n  concur uncertainty demo\n  concur uncertainty --examples runs/ --coefficient "
      "pearson");
  OnRun(command, context, [flags, &context] { return RunUncertainty(*flags, context); });
}

}  // namespace concur::cli
