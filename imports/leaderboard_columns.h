// SPDX-License-Identifier: Apache-2.0
// What the columns of a leaderboard are: the model, benchmarks, or something about the model.
//
// Pure functions.
#ifndef CONCUR_IMPORTS_LEADERBOARD_COLUMNS_H_
#define CONCUR_IMPORTS_LEADERBOARD_COLUMNS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"
#include "imports/reader.h"

namespace concur::imports {

// One field of a leaderboard as a score. "94.2/92.3" are two scores, of which the mean counts, as
// GLUE has it; "71.2%" is a percentage; "71.2 ± 0.4" a score with a margin, which is not kept, as
// it is not known of what; "71.2*" a score with a remark.
struct ParsedScore {
  double value = 0;
  std::vector<double> parts;  // of several; else empty
  bool percent = false;
};
// Nothing for what is no score.
std::optional<ParsedScore> ParseScore(absl::string_view field);
// Whether a field says that there is no score: "", "-", "N/A", "nan", "—", …
bool IsGap(absl::string_view field);

struct LeaderboardTable {
  std::vector<std::string> header;
  struct Row {
    std::vector<std::string> fields;  // as many as the header has
    int64_t line = 0;
  };
  std::vector<Row> rows;
};

// Puts points for the commas of columns of numbers such as "71,2", whose comma is the decimal
// point. A column of "1,234" alone may be of thousands: these are decimal commas where semicolons
// separate, as spreadsheets write them for that reason, unless another number of the column can
// only have thousands apart, as "1,234.5" and "1,234,567".
void ReadDecimalCommas(char separator, LeaderboardTable& table);

enum class ColumnKind {
  kModel,
  kScore,
  kTag,        // about the model
  kAggregate,  // a mean or a rank over other columns
};

struct ColumnPlan {
  ColumnKind kind = ColumnKind::kTag;
  std::string name;  // of the benchmark or the tag
  std::string metric = "score";
  MetricMeaning meaning;
  std::string reason;  // of an aggregate
};

// The kind of every column of a table with a row for each model. InvalidArgument when a column that
// the options name is not there.
absl::StatusOr<std::vector<ColumnPlan>> PlanColumns(const LeaderboardTable& table,
                                                    const ReadOptions& options,
                                                    absl::string_view path);

// Of the columns, those that are a mean of others, but for rounding.
std::vector<size_t> MeansOfOthers(const LeaderboardTable& table,
                                  const std::vector<size_t>& columns);

// The columns of a table with a row for each score; nothing when it is not of that kind.
struct LongColumns {
  size_t model = 0;
  size_t task = 0;
  size_t score = 0;
  std::optional<size_t> metric;
  std::optional<size_t> repeat;
  std::optional<size_t> standard_error;
  std::optional<size_t> examples;
};
std::optional<LongColumns> FindLongColumns(const LeaderboardTable& table,
                                           const ReadOptions& options);

// A column's name as its kind is recognised by: small letters, without blanks around, "_" and
// arrows.
std::string PlainName(absl::string_view name);
// Whether a column of that name is a mean or rank over others.
bool NamesAggregate(absl::string_view name);
// A tag's name from a column's: letters, digits and "._+-@=".
std::string TagName(absl::string_view column);

}  // namespace concur::imports

#endif  // CONCUR_IMPORTS_LEADERBOARD_COLUMNS_H_
