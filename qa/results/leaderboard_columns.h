// SPDX-License-Identifier: Apache-2.0
// The roles of a leaderboard's columns and rows: models, tasks, scores, or something about a model.
//
// Pure functions.
#ifndef CONCUR_QA_RESULTS_LEADERBOARD_COLUMNS_H_
#define CONCUR_QA_RESULTS_LEADERBOARD_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"
#include "base/table/table_text.h"
#include "qa/results/reader.h"

namespace concur::imports {

struct LeaderboardTable {
  char separator = ',';
  std::vector<std::string> header;
  struct Row {
    std::vector<std::string> fields;  // as many as the header has
    int64_t line = 0;
  };
  std::vector<Row> rows;
  std::vector<CellColumn> columns;  // the fields as cells, by column; after ReadColumns
};
void ReadColumns(LeaderboardTable& table);

bool Has(const std::vector<std::string>& names, const std::string& name);

// Appends a remark when numbers within 0 to 100, some above 10, stand beside some of at most 1,
// which may be fractions of what the others are percent of.
void RemarkOnFractions(const std::vector<Cell*>& cells, std::vector<std::string>& remarks);

// True if a column is called a repetition's, and its values differ but in their digits, or none
// comes twice: "run" with "cot" and "direct" is a setting.
bool HasRepeats(const LeaderboardTable& table, size_t column);

enum class ColumnKind {
  kModel,
  kScore,
  kTag,        // about the model
  kAggregate,  // a mean or a rank over other columns
};

struct ColumnPlan {
  ColumnKind kind = ColumnKind::kTag;
  std::string name;  // the benchmark's or the tag's
  std::string metric = "score";
  MetricMeaning meaning;
  bool is_goal_stated = false;
  std::string why;  // it is of that kind; what was assumed
};

// InvalidArgument unless the column of models that the options name is there.
absl::Status CheckModelColumn(const LeaderboardTable& table, const ReadOptions& options,
                              absl::string_view path);

// The kind of every column of a table with a row for each model; brings cells with "%" to the unit
// of their column. InvalidArgument when a column that the options name is not there.
absl::StatusOr<std::vector<ColumnPlan>> PlanColumns(LeaderboardTable& table,
                                                    const ReadOptions& options,
                                                    absl::string_view path);

// The columns, each with a value or a gap for every row, that are a mean of others but for
// rounding.
using ScoreColumn = std::vector<std::optional<double>>;
std::vector<size_t> MeansOfOthers(const std::vector<ScoreColumn>& columns);

// The columns of a table with a row for each model and task; nothing when it is not of that kind.
struct LongColumns {
  size_t model = 0;
  size_t task = 0;
  std::vector<size_t> scores;  // one, or one for each metric
  std::optional<size_t> metric;
  std::optional<size_t> repeat;
  std::optional<size_t> standard_error;
  std::optional<size_t> examples;
  std::optional<size_t> goal;  // states it of each row
  std::string why;             // the rows were taken for tasks
};
std::optional<LongColumns> FindLongColumns(const LeaderboardTable& table,
                                           const ReadOptions& options);

// Turns a table with a row for each task and a column for each model into one with a row for each
// score; nothing, and the table as it was, when models are in rows. InvalidArgument when the names
// contradict the column "Model", and for a table that becomes too large.
absl::StatusOr<std::optional<LongColumns>> TurnTasksInRows(LeaderboardTable& table,
                                                           const ReadOptions& options,
                                                           absl::string_view path,
                                                           size_t fields_max);

// A column's or task's name without arrows, and the goal that it states or that is guessed by it.
struct NamedGoal {
  std::string name;
  Goal goal = Goal::kMaximize;
  bool is_stated = false;
};
NamedGoal GoalInName(absl::string_view name);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_LEADERBOARD_COLUMNS_H_
