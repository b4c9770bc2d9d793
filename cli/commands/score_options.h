// SPDX-License-Identifier: Apache-2.0
// Options shared by the commands that analyse scores.
//
// Thread-compatible.
#ifndef CONCUR_CLI_COMMANDS_SCORE_OPTIONS_H_
#define CONCUR_CLI_COMMANDS_SCORE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison/selection.h"
#include "analysis/example_runs.h"
#include "analysis/plan/plan.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "cli/app/context.h"
#include "report/sweep_table.h"

namespace concur::cli {

// Calls body(0) to body(count - 1), spread over the machine's processors; a ParallelFor. After two
// seconds a terminal shows how far it is and how long it will take.
void ThreadedFor(size_t count, const std::function<void(size_t)>& body);

// --minimize and --key, as the commands have them that take --scores FILE.
struct ScoreFileFlags {
  std::vector<std::string> minimize;  // patterns of column names, each value a line of CSV
  std::vector<std::string> keys;
  std::string deviation;  // MEAN,SD: suffixes of columns
  int64_t deviation_seeds = 2;
  std::string train_column;
};
// `flags` must outlive the command.
void AddScoreFileOptions(Command* command, ScoreFileFlags& flags);
// --train, for commands whose rows are approaches and what they were trained on.
void AddTrainColumnOption(Command* command, ScoreFileFlags& flags);
// --minimize alone, for commands that read no files.
void AddMinimizeOption(Command* command, ScoreFileFlags& flags);

// --select with these rules.
inline constexpr absl::string_view kSelectRules =
    "best, best-on-test, best-on-other-seeds, default, mean or each";
void AddSelectOption(Command* command, std::string& select, absl::string_view rules = kSelectRules);

// The table of a sweep that --minimize, --select and --columns ask for.
absl::StatusOr<SweepTableOptions> TableOptionsOf(
    const ScoreFileFlags& flags, const std::string& select = "",
    analysis::Layout layout = analysis::Layout::kTrainInColumns,
    const std::vector<std::string>& columns = {});

// The scores CSV at `path`, its warnings written to context.err. Errors name the file.
absl::StatusOr<analysis::ScoreTable> ReadScores(const std::string& path,
                                                const ScoreFileFlags& flags,
                                                CommandContext& context);
// Minimizes the columns of --minimize in what was read from files.
absl::Status ApplyMinimize(const ScoreFileFlags& flags, analysis::ScoreTable& table);
absl::Status ApplyMinimize(const ScoreFileFlags& flags, analysis::ExampleRuns& runs);

// --interval, --replicates and --seed, as several commands have them.
struct IntervalFlags {
  std::optional<double> level;  // unset: no intervals
  int64_t replicates = 10'000;
  uint64_t seed = 1;
};
// `flags` must outlive the command. Returns --interval, for options that need it.
Option* AddIntervalOptions(Command* command, IntervalFlags& flags,
                           const std::string& about = "Level of the bootstrap intervals; 0: none");
// Bootstrap that the flags ask for, run on all processors; unset without --interval.
// InvalidArgument for values out of range.
absl::StatusOr<std::optional<analysis::BootstrapOptions>> BootstrapOf(const IntervalFlags& flags);

// --families, for FamiliesOf; `tag` must outlive the command.
void AddFamiliesOption(Command* command, std::string& tag);

// --cluster, for commands that read per-example scores; `value` must outlive the command.
void AddClusterOption(Command* command, std::string& value);
// Unit that --cluster asks for; unset: the default. InvalidArgument for an unknown unit.
absl::StatusOr<std::optional<analysis::ExampleUnit>> UnitOf(const std::string& value);

// --reference: texts for analysis::AddReferences; `texts` must outlive the command.
void AddReferenceOption(Command* command, std::vector<std::string>& texts);

// --columns: names of benchmarks, for SelectColumns; `columns` must outlive the command.
void AddColumnsOption(Command* command, std::vector<std::string>& columns);
// The benchmarks that --columns names, in its order; all when it was not given.
absl::StatusOr<analysis::ScoreTable> SelectColumns(analysis::ScoreTable table,
                                                   const std::vector<std::string>& columns);

// --costs: the costs of a table's cells in the CSV `file`; all alike without one.
absl::StatusOr<analysis::CellCosts> ReadCosts(const std::string& file,
                                              const analysis::ScoreTable& table,
                                              CommandContext& context);

// --where: tags for analysis::ScoreTable::Where; `where` must outlive the command.
void AddWhereOption(Command* command, std::vector<std::string>& where);

// Names in one option value, as a line of CSV: `A,"B, C"`. InvalidArgument when it is empty.
absl::StatusOr<std::vector<std::string>> SplitNames(const std::string& option,
                                                    const std::string& value);
// Those of all values of an option.
absl::StatusOr<std::vector<std::string>> SplitAllNames(const std::string& option,
                                                       const std::vector<std::string>& values);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_SCORE_OPTIONS_H_
