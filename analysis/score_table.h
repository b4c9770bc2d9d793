// SPDX-License-Identifier: Apache-2.0
// A score table: what each approach scored on each benchmark, and why where it did not.
//
// Immutable after it is filled; thread-compatible. Rows are approaches and columns are benchmarks,
// both in the order that the caller gave: that order, and nothing else, decides every output.
// Scores keep the unit of their source (SQuAD's metrics: percent). Each column says what its scores
// mean; whatever compares scores (coefficients, ranks, the choice of the best) takes them from
// Oriented(), the one place where less becomes better.
#ifndef CONCUR_ANALYSIS_SCORE_TABLE_H_
#define CONCUR_ANALYSIS_SCORE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/metric_meaning.h"

namespace concur::analysis {

enum class CellState { kMissing, kValue, kFailed, kPending, kStopped };
// "missing", "value", "failed", "pending", "stopped".
absl::string_view CellStateName(CellState state);

struct ScoreCell {
  CellState state = CellState::kMissing;
  double value = 0;               // finite; meaningful when state is kValue
  double standard_deviation = 0;  // over seeds, sample (n - 1); 0 when seeds < 2
  int64_t seeds = 0;              // number of seeds that the value averages; 0 when unknown
  int64_t examples = 0;           // test examples behind each score; 0 when unknown
  int64_t setting = -1;           // the setting that was chosen; -1: none or several
  int64_t failed = 0;             // failed scores among those that should have made the cell
  int64_t pending = 0;            // scores still to come
  int64_t missing = 0;            // scores that nobody will make: their jobs were canceled
  int64_t stopped = 0;            // likewise: early stopping ended their settings
  // True if some of those scores are not there.
  bool IsPartial() const { return failed > 0 || pending > 0 || missing > 0 || stopped > 0; }
  bool operator==(const ScoreCell&) const = default;
};

// Way in which the settings behind a benchmark's scores were chosen, where there was a choice.
struct SettingChoice {
  // "validation": on validation sets; "test": on this very test set, so that its scores are the
  // best of several; "other seeds": for each seed on this test set, by the other seeds; "test of
  // NAME": on another test set; "": there was nothing to choose.
  std::string on;
  // By how much choosing on this test set raises the mean score over approaches, with more being
  // better: above that of the settings chosen on validation sets or, for "test" and "other seeds",
  // on other seeds. Set where both ways could be taken.
  std::optional<double> optimism;
  bool operator==(const SettingChoice&) const = default;
};

// A name with its tags, e.g. {"BiDAF", {{"pretrained", "no"}}}.
struct AxisEntry {
  std::string name;
  std::map<std::string, std::string> tags;
  MetricMeaning metric = {};  // a benchmark's: what its scores mean
  SettingChoice choice = {};  // likewise
  // A benchmark's: scores that differ by at most this are practically equal, to tau-b.
  double ties_within = 0;
  // True for an approach that is a reference: its scores are shown beside the others', and are not
  // compared with them (references.h).
  bool is_reference = false;
  bool operator==(const AxisEntry&) const = default;
};

// Names in order; the tags that some entry carries, sorted; the value of a tag ("": not carried).
std::vector<std::string> NamesOf(const std::vector<AxisEntry>& entries);
std::vector<std::string> TagsOf(const std::vector<AxisEntry>& entries);
std::string TagValue(const AxisEntry& entry, const std::string& tag);
// True if `text` is `pattern` with every "*" replaced by some text.
bool MatchesPattern(absl::string_view pattern, absl::string_view text);
// The position of the entry called `name`. InvalidArgument otherwise: `complaint`, the name, one
// like it, and the names that there are: `unknown column "x"; the benchmarks are a, b`.
absl::StatusOr<size_t> FindEntry(const std::vector<AxisEntry>& entries, const std::string& name,
                                 absl::string_view complaint, absl::string_view kind);
// InvalidArgument with `complaint`, the tag, one like it, and the tags that there are.
absl::Status UnknownTag(absl::string_view complaint, const std::string& tag,
                        const std::vector<std::string>& tags);

// The worst and the best score that a benchmark allows.
struct ScoreRange {
  double low = 0;
  double high = 0;
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

  // The same scores with more being better in every column: those of columns to be minimized are
  // negated, as is their scale. A table without such columns is returned as it is.
  ScoreTable Oriented() const;
  // 1, or -1 where less is better: what orients a score, and takes an oriented one back.
  double sign(size_t benchmark) const {
    return benchmarks_[benchmark].metric.goal == Goal::kMinimize ? -1 : 1;
  }
  // The benchmarks that are minimized, in order.
  std::vector<std::string> Minimized() const;
  // Minimizes the columns whose names match a pattern, in which "*" stands for any text.
  // InvalidArgument when a pattern matches none.
  absl::Status Minimize(absl::Span<const std::string> patterns);
  // Gives tied scores of a column (base/metric_meaning.h) the value of the first of them, so that
  // every coefficient and rank takes them as equal.
  void MergeTies();
  // Sets AxisEntry::ties_within of every benchmark. InvalidArgument unless `within` is finite and 0
  // or more, and where the scales of the benchmarks, stated or guessed, differ.
  absl::Status SetTiesWithin(double within);
  void SetChoice(size_t benchmark, SettingChoice choice) {
    benchmarks_[benchmark].choice = std::move(choice);
  }
  void SetReference(size_t approach) { approaches_[approach].is_reference = true; }
  // Between what the scores of a column can lie; nothing for a scale without limits. Where no scale
  // is stated: nothing where less is better, since errors and losses have no worst score, and where
  // a score lies beyond them; else from 0 to full_score.
  std::optional<ScoreRange> range(size_t benchmark) const;
  // Score that stands for a share of 1 on a benchmark: the upper end of a stated scale from 0 on,
  // nothing on others. Where none is stated: 100 if any score of the column is above 1, else 1.
  std::optional<double> full_score(size_t benchmark) const;
  // The digits after the point that tell a column's scores apart: four where none is beyond 1, two
  // on any other scale.
  int decimals(size_t benchmark) const;

 private:
  ScoreTable Take(const std::vector<size_t>& rows, const std::vector<size_t>& columns) const;

  std::vector<AxisEntry> approaches_;
  std::vector<AxisEntry> benchmarks_;
  std::vector<ScoreCell> cells_;  // column by column
};

// A scores CSV, read.
struct ParsedScores {
  ScoreTable table;
  // `FILE:LINE: column …` for columns that look like scores with a slip in them.
  std::vector<std::string> warnings;
};

// Below the header of a scores CSV: the first fields of rows that say of each benchmark "maximize"
// or "minimize", and its scale as ScaleText writes it; empty: nothing is stated.
inline constexpr absl::string_view kGoalRow = "#goal";
inline constexpr absl::string_view kScaleRow = "#scale";
// And on what settings were chosen, and what that adds: SettingChoice.
inline constexpr absl::string_view kChosenRow = "#chosen";
inline constexpr absl::string_view kOptimismRow = "#optimism";

struct ScoresCsvOptions {
  std::vector<std::string> tag_columns = {};  // tags also where all values are numbers
  // Tags that tell rows of one approach apart: where a name comes several times, each becomes
  // "NAME (VALUE)", "NAME #VALUE" for the key "setting", "NAME ← VALUE" for "train".
  std::vector<std::string> keys = {};
  // Patterns of columns whose goal the caller states: they are not asked about.
  std::vector<std::string> with_goal = {};
  // Two columns NAME + mean and NAME + deviation, of which the second holds the standard deviations
  // of the first over `seeds` seeds; the column is then called NAME.
  struct Deviations {
    std::string mean;
    std::string deviation;
    int64_t seeds = 2;
  };
  std::optional<Deviations> deviations = {};
  std::string train_column = {};  // read as the tag "train"; "": the column of that name, if any
};

// Reads a scores CSV, as ReadTableText reads tables: one row per approach, the first column its
// name. A column with any value that is neither a number nor absent is a tag, as are those that the
// options name; all others are benchmarks. Absent are the gaps and, among numbers, the failures of
// ParseCell. InvalidArgument, as `FILE:LINE: column "X": …`, for what ReadTableText refuses, rows
// of the wrong length, empty or repeated names, unknown goals and scales, and scores that are NaN
// or infinite.
absl::StatusOr<ParsedScores> ParseScoresCsv(absl::string_view text, absl::string_view file,
                                            const ScoresCsvOptions& options = {});

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_SCORE_TABLE_H_
