// A score table: what each approach scored on each benchmark, and why where it did not.
//
// Immutable after it is filled; thread-compatible. Rows are approaches and columns are benchmarks,
// both in the order that the caller gave: that order, and nothing else, decides every output.
// Scores keep the unit of their source (SQuAD's metrics: percent).
#ifndef CONCUR_ANALYSIS_SCORE_TABLE_H_
#define CONCUR_ANALYSIS_SCORE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace concur::analysis {

enum class CellState { kMissing, kValue, kFailed, kPending };
// "missing", "value", "failed", "pending".
absl::string_view CellStateName(CellState state);

struct ScoreCell {
  CellState state = CellState::kMissing;
  double value = 0;               // finite; meaningful when state is kValue
  double standard_deviation = 0;  // over seeds, sample (n - 1); 0 when seeds < 2
  int64_t seeds = 0;              // how many seeds the value averages; 0 when unknown
  int64_t examples = 0;           // test examples behind each score; 0 when unknown
  int64_t setting = -1;           // the setting that was chosen; -1: none or several
  int64_t failed = 0;             // failed scores among those that should have made the cell
  int64_t pending = 0;            // scores still to come
  bool operator==(const ScoreCell&) const = default;
};

// A name with its tags, e.g. {"BiDAF", {{"pretrained", "no"}}}.
struct AxisEntry {
  std::string name;
  std::map<std::string, std::string> tags;
  bool operator==(const AxisEntry&) const = default;
};

class ScoreTable {
 public:
  ScoreTable() = default;

  // A table of missing cells. InvalidArgument when a name is empty or comes twice on its axis, or
  // the table would have more than kCellsMax cells.
  static absl::StatusOr<ScoreTable> Create(std::vector<AxisEntry> approaches,
                                           std::vector<AxisEntry> benchmarks);
  static constexpr size_t kCellsMax = 50'000'000;

  const std::vector<AxisEntry>& approaches() const { return approaches_; }
  const std::vector<AxisEntry>& benchmarks() const { return benchmarks_; }
  const ScoreCell& cell(size_t approach, size_t benchmark) const {
    return cells_[benchmark * approaches_.size() + approach];
  }
  ScoreCell& cell(size_t approach, size_t benchmark) {
    return cells_[benchmark * approaches_.size() + approach];
  }
  // The cells of one benchmark, in the order of approaches.
  absl::Span<const ScoreCell> column(size_t benchmark) const {
    return absl::Span<const ScoreCell>(cells_).subspan(benchmark * approaches_.size(),
                                                       approaches_.size());
  }

  // Only the rows (or columns, for a tag that benchmarks carry) that satisfy every condition:
  // `TAG=VALUE`, `TAG!=VALUE`, or `TAG`, short for `TAG=yes`. InvalidArgument for a condition that
  // cannot be read, a tag that nothing carries, or a value that leaves no row or no column.
  absl::StatusOr<ScoreTable> Where(absl::Span<const std::string> conditions) const;

  // Only the named columns, in the order of `names`. InvalidArgument for an unknown or repeated
  // one.
  absl::StatusOr<ScoreTable> SelectBenchmarks(absl::Span<const std::string> names) const;

  // Only the rows that have a value in every column.
  ScoreTable CompleteCases() const;

 private:
  ScoreTable Take(const std::vector<size_t>& rows, const std::vector<size_t>& columns) const;

  std::vector<AxisEntry> approaches_;
  std::vector<AxisEntry> benchmarks_;
  std::vector<ScoreCell> cells_;  // column by column
};

// Tags as sweeps write them: "pretrained=no" is a tag with a value; a bare "neural" has the value
// "yes" where it stands and "no" on every other entry, so that both can be asked for.
struct TaggedName {
  std::string name;
  std::vector<std::string> tags;
};
std::vector<AxisEntry> ResolveTags(absl::Span<const TaggedName> names);

// A scores CSV, read.
struct ParsedScores {
  ScoreTable table;
  // `FILE:LINE: column …` for columns that look like scores with a slip in them.
  std::vector<std::string> warnings;
};

// Reads a scores CSV: one row per approach, the first column its name. A column with any value
// that is neither a number nor empty is a tag, as are those named in `tag_columns`; all others are
// benchmarks, and their empty cells are missing. Blanks around names and values are dropped.
// InvalidArgument, as `FILE:LINE: column "X": …`, for what ParseCsv refuses, rows of the wrong
// length, empty or repeated names, and scores that are NaN or infinite.
absl::StatusOr<ParsedScores> ParseScoresCsv(absl::string_view text, absl::string_view file,
                                            absl::Span<const std::string> tag_columns = {});

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_SCORE_TABLE_H_
