// SPDX-License-Identifier: Apache-2.0
// The scores CSV of score_table.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "analysis/score_table.h"
#include "base/csv.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "base/table/table_text.h"

namespace concur::analysis {
namespace {

struct Column {
  std::string name;
  bool is_tag = false;
  MetricMeaning metric;
  SettingChoice choice;
  int64_t metric_line = 0;  // line that says something of its scores; 0: none does
  bool has_goal = false;    // a goal or a scale is stated
  // Position of the column of the means, for a column of standard deviations; else 0.
  size_t deviations_of = 0;
  std::vector<Cell> cells;  // by row
};

class Reader {
 public:
  Reader(absl::string_view file, TableText table)
      : file_(file), separator_(table.separator), records_(std::move(table.records)) {
    for (const TableText::LeftOut& line : table.left_out) {
      warnings_.push_back(
          absl::StrCat(file_, ":", line.line, ": left out: ", line.reason,
                       line.count > 1 ? absl::StrCat(", and ", line.count - 1, " more") : ""));
    }
  }

  absl::StatusOr<ParsedScores> Read(const ScoresCsvOptions& options) {
    CONCUR_RETURN_IF_ERROR(ReadHeader());
    CONCUR_RETURN_IF_ERROR(CheckLengths());
    CONCUR_RETURN_IF_ERROR(NameTrainColumn(options.train_column));
    if (options.deviations) {
      CONCUR_RETURN_IF_ERROR(PairDeviations(*options.deviations));
      seeds_ = options.deviations->seeds;
    }
    CONCUR_RETURN_IF_ERROR(ReadMeanings());
    CONCUR_RETURN_IF_ERROR(ForceTags(options.tag_columns));
    CONCUR_RETURN_IF_ERROR(ForceTags(options.keys));
    CONCUR_RETURN_IF_ERROR(ReadNames(options.keys));
    with_goal_ = options.with_goal;
    for (size_t i = 1; i < columns_.size(); ++i) {
      CONCUR_RETURN_IF_ERROR(ReadColumn(i));
    }
    return Build();
  }

 private:
  absl::Status At(int64_t line, absl::string_view column, absl::string_view what) const {
    return absl::InvalidArgumentError(Where(line, column, what));
  }
  std::string Where(int64_t line, absl::string_view column, absl::string_view what) const {
    return absl::StrCat(file_, ":", line, ": column \"", column, "\": ", what);
  }

  absl::Status ReadHeader() {
    if (records_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file_, ":1: expected a header line (approach, then tags and benchmarks), got nothing"));
    }
    absl::flat_hash_map<std::string, size_t> seen;
    const CsvRecord& header = records_[0];
    for (size_t i = 0; i < header.fields.size(); ++i) {
      Column column;
      column.name = std::string(Field(0, i));
      if (column.name.empty() && i > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(file_, ":", header.line, ": column ", i + 1, " has no name"));
      }
      if (!seen.emplace(column.name, i).second) {
        return At(header.line, column.name, "the name comes twice in the header");
      }
      columns_.push_back(std::move(column));
    }
    return absl::OkStatus();
  }

  absl::Status CheckLengths() const {
    for (const CsvRecord& record : records_) {
      if (record.fields.size() != columns_.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(file_, ":", record.line, ": expected ", columns_.size(),
                         " fields as in the header, got ", record.fields.size()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status NameTrainColumn(const std::string& name) {
    if (name.empty() || name == "train") {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(ForceTags({&name, 1}));
    if (ColumnNamed("train") < columns_.size()) {
      return At(records_[0].line, "train",
                absl::StrCat("expected no column of this name beside \"", name, "\""));
    }
    columns_[ColumnNamed(name)].name = "train";
    return absl::OkStatus();
  }

  absl::Status PairDeviations(const ScoresCsvOptions::Deviations& suffixes) {
    bool any = false;
    for (Column& column : columns_) {
      absl::string_view name = column.name;
      if (!absl::ConsumeSuffix(&name, suffixes.deviation)) {
        continue;
      }
      const size_t mean = ColumnNamed(absl::StrCat(name, suffixes.mean));
      if (mean >= columns_.size() || &columns_[mean] == &column) {
        continue;
      }
      column.deviations_of = mean;
      any = true;
    }
    if (!any) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_, ":", records_[0].line, ": expected two columns NAME", suffixes.mean,
                       " and NAME", suffixes.deviation, ", got none such"));
    }
    for (const Column& column : columns_) {
      if (column.deviations_of != 0) {
        std::string& mean = columns_[column.deviations_of].name;
        mean.resize(mean.size() - suffixes.mean.size());
      }
    }
    return absl::OkStatus();
  }

  static bool IsMeaningRow(absl::string_view name) {
    return name == kGoalRow || name == kScaleRow || name == kChosenRow || name == kOptimismRow;
  }

  // Takes what a field of a row that IsMeaningRow says of its column.
  static absl::Status ReadMeaning(absl::string_view kind, absl::string_view text, Column& column) {
    if (kind == kGoalRow) {
      CONCUR_ASSIGN_OR_RETURN(column.metric.goal, GoalFromName(text));
    } else if (kind == kScaleRow) {
      CONCUR_ASSIGN_OR_RETURN(column.metric.scale, ScaleFromText(text));
    } else if (kind == kChosenRow) {
      // Several are joined by commas, which names may have, too.
      const auto begins_with = [text](absl::string_view kind_of_set) {
        absl::string_view rest = text;
        return absl::ConsumePrefix(&rest, kind_of_set) &&
               (rest.empty() || absl::StartsWith(rest, ",") || absl::StartsWith(rest, " of "));
      };
      if (!begins_with("validation") && !begins_with("test") && !begins_with("other seeds")) {
        return absl::InvalidArgumentError(absl::StrCat(
            "expected validation, test, test of NAME or other seeds, got \"", text, "\""));
      }
      column.choice.on = std::string(text);
    } else {
      const Cell optimism = ParseCell(text);
      if (optimism.kind != CellKind::kNumber) {
        return absl::InvalidArgumentError(absl::StrCat("expected a number, got \"", text, "\""));
      }
      column.choice.optimism = optimism.value();
    }
    return absl::OkStatus();
  }

  // The rows "#goal", "#scale", "#chosen" and "#optimism" below the header, which are then gone.
  absl::Status ReadMeanings() {
    std::set<std::string> seen;
    size_t next = 1;
    for (; next < records_.size(); ++next) {
      const std::string kind(Field(next, 0));
      const int64_t line = records_[next].line;
      if (!IsMeaningRow(kind)) {
        break;
      }
      if (!seen.insert(kind).second) {
        return At(line, columns_[0].name, absl::StrCat("a second row \"", kind, "\""));
      }
      for (size_t i = 1; i < columns_.size(); ++i) {
        const absl::string_view text = Field(next, i);
        if (text.empty()) {
          continue;
        }
        columns_[i].metric_line = line;
        columns_[i].has_goal = columns_[i].has_goal || kind == kGoalRow || kind == kScaleRow;
        const absl::Status read = ReadMeaning(kind, text, columns_[i]);
        if (!read.ok()) {
          return At(line, columns_[i].name, read.message());
        }
      }
    }
    records_.erase(records_.begin() + 1, records_.begin() + static_cast<std::ptrdiff_t>(next));
    return absl::OkStatus();
  }

  // A name that several rows have is told apart by the values of `keys`.
  absl::Status ReadNames(absl::Span<const std::string> keys) {
    absl::flat_hash_map<std::string, size_t> rows_of;
    for (size_t r = 1; r < records_.size(); ++r) {
      const std::string name(Field(r, 0));
      if (name.empty()) {
        return At(records_[r].line, columns_[0].name,
                  "expected the name of an approach, got nothing");
      }
      if (IsMeaningRow(name)) {
        return At(records_[r].line, columns_[0].name,
                  absl::StrCat("expected the row \"", name, "\" right below the header"));
      }
      ++rows_of[name];
    }
    absl::flat_hash_map<std::string, int64_t> seen;
    for (size_t r = 1; r < records_.size(); ++r) {
      std::string name(Field(r, 0));
      if (rows_of[name] > 1) {
        for (const std::string& key : keys) {
          absl::StrAppend(&name, KeyText(key, Field(r, ColumnNamed(key))));
        }
      }
      const auto [first, inserted] = seen.emplace(name, records_[r].line);
      if (!inserted) {
        return At(records_[r].line, columns_[0].name,
                  absl::StrCat("approach \"", name, "\" is already on line ", first->second,
                               KeyHint(rows_of)));
      }
      approaches_.push_back({name, {}});
    }
    return absl::OkStatus();
  }

  // As the tables of a sweep name a setting and a train set.
  static std::string KeyText(absl::string_view key, absl::string_view value) {
    return key == "setting" ? absl::StrCat(" #", value)
           : key == "train" ? absl::StrCat(" ← ", value)
                            : absl::StrCat(" (", value, ")");
  }

  size_t ColumnNamed(absl::string_view name) const {
    size_t at = 1;
    while (at < columns_.size() && columns_[at].name != name) {
      ++at;
    }
    return at;
  }

  // The remedy for rows with one name, with a column that tells them all apart if there is one.
  std::string KeyHint(const absl::flat_hash_map<std::string, size_t>& rows_of) const {
    std::string example;
    for (size_t i = 1; i < columns_.size() && example.empty(); ++i) {
      std::set<std::pair<absl::string_view, absl::string_view>> seen;
      bool differ = true;
      for (size_t r = 1; r < records_.size() && differ; ++r) {
        differ = rows_of.at(std::string(Field(r, 0))) == 1 ||
                 (!Field(r, i).empty() && seen.emplace(Field(r, 0), Field(r, i)).second);
      }
      example = differ ? columns_[i].name : "";
    }
    return absl::StrCat("; --key COLUMN tells rows with one name apart",
                        example.empty() ? "" : absl::StrCat(", here --key \"", example, "\""));
  }

  absl::Status ForceTags(absl::Span<const std::string> tag_columns) {
    for (const std::string& name : tag_columns) {
      const size_t found = ColumnNamed(name);
      if (found >= columns_.size()) {
        std::vector<std::string> known;
        for (size_t i = 1; i < columns_.size(); ++i) {
          known.push_back(columns_[i].name);
        }
        return At(records_[0].line, name,
                  absl::StrCat("expected a column of this name in the header, got none",
                               DidYouMean(name, known)));
      }
      columns_[found].is_tag = true;
    }
    return absl::OkStatus();
  }

  absl::string_view Field(size_t record, size_t column) const {
    return records_[record].fields[column];
  }

  // Decides whether the column is a tag or a benchmark, and reads it.
  absl::Status ReadColumn(size_t index) {
    Column& column = columns_[index];
    std::vector<absl::string_view> fields;
    for (size_t r = 1; r < records_.size(); ++r) {
      fields.push_back(Field(r, index));
    }
    CellColumn read = ReadCells(fields, separator_);
    if (column.is_tag) {
      return absl::OkStatus();
    }
    size_t text_at = 0;
    size_t failure_at = 0;
    size_t not_finite_at = 0;
    std::vector<Cell*> cells;
    for (size_t r = 1; r < records_.size(); ++r) {
      Cell& cell = read.cells[r - 1];
      cells.push_back(&cell);
      const auto note = [r](bool is_so, size_t& first) { first = is_so && first == 0 ? r : first; };
      note(cell.kind == CellKind::kFailure, failure_at);
      // A pair does not say which of its scores counts; without numbers a failure is a word.
      note(cell.kind == CellKind::kWord || cell.is_pair ||
               (cell.kind == CellKind::kFailure && read.numbers == 0),
           text_at);
      note(cell.kind == CellKind::kNotFinite, not_finite_at);
    }
    if (column.deviations_of != 0) {
      column.cells = std::move(read.cells);
      return CheckDeviations(index);
    }
    if (text_at != 0 && column.metric_line != 0) {
      return At(records_[text_at].line, column.name,
                absl::StrCat("expected a number, as line ", column.metric_line,
                             " says what its scores mean, got \"", Field(text_at, index), "\""));
    }
    if (text_at != 0) {
      column.is_tag = true;
      if (read.numbers > 0) {
        warnings_.push_back(Where(records_[text_at].line, column.name,
                                  absl::StrCat("read as a tag, not as a benchmark, because of \"",
                                               Field(text_at, index), "\"; ", read.numbers,
                                               " of its values are numbers; concur bundle convert "
                                               "leaderboard reads such tables")));
      }
      return absl::OkStatus();
    }
    if (not_finite_at != 0) {
      return At(records_[not_finite_at].line, column.name,
                absl::StrCat("expected a finite number, or nothing for a missing score, got \"",
                             Field(not_finite_at, index), "\""));
    }
    if (failure_at != 0) {
      read.remarks.push_back(absl::StrCat("\"", Field(failure_at, index),
                                          "\" and the like are missing scores: ", read.failures));
    }
    if (SettlePercent(cells, read.remarks) && column.metric.scale.kind == Scale::Kind::kUnstated) {
      column.metric.scale.kind = Scale::Kind::kPercent;
    }
    for (const std::string& remark : read.remarks) {
      warnings_.push_back(Where(records_[0].line, column.name, remark));
    }
    column.cells = std::move(read.cells);
    const bool goal_is_known =
        column.has_goal ||
        std::any_of(with_goal_.begin(), with_goal_.end(), [&](const std::string& pattern) {
          return MatchesPattern(pattern, column.name);
        });
    if (!goal_is_known && (UsuallyMinimized(column.name) || HasUnclearGoal(column.name))) {
      warnings_.push_back(Where(records_[0].line, column.name,
                                "read as a score of which more is better; if less is better, say "
                                "so with --minimize or a row \"#goal\" below the header"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckDeviations(size_t index) const {
    const Column& column = columns_[index];
    for (size_t r = 1; r < records_.size(); ++r) {
      const Cell& cell = column.cells[r - 1];
      if (cell.kind != CellKind::kGap && !(cell.kind == CellKind::kNumber && cell.value() >= 0)) {
        return At(records_[r].line, column.name,
                  absl::StrCat("expected a standard deviation of at least 0, or nothing, got \"",
                               Field(r, index), "\""));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ParsedScores> Build() {
    std::vector<AxisEntry> benchmarks;
    for (size_t i = 1; i < columns_.size(); ++i) {
      if (columns_[i].deviations_of != 0) {
        continue;
      }
      if (!columns_[i].is_tag) {
        benchmarks.push_back({columns_[i].name, {}, columns_[i].metric, columns_[i].choice});
        continue;
      }
      for (size_t r = 1; r < records_.size(); ++r) {
        approaches_[r - 1].tags[columns_[i].name] = std::string(Field(r, i));
      }
    }
    ParsedScores parsed;
    CONCUR_ASSIGN_OR_RETURN(parsed.table,
                            ScoreTable::Create(std::move(approaches_), std::move(benchmarks)));
    size_t benchmark = 0;
    std::vector<size_t> benchmark_of(columns_.size(), 0);
    for (size_t i = 1; i < columns_.size(); ++i) {
      if (columns_[i].is_tag || columns_[i].deviations_of != 0) {
        continue;
      }
      benchmark_of[i] = benchmark;
      for (size_t row = 0; row < columns_[i].cells.size(); ++row) {
        if (columns_[i].cells[row].kind == CellKind::kNumber) {
          ScoreCell& cell = parsed.table.cell(row, benchmark);
          cell.state = CellState::kValue;
          cell.value = columns_[i].cells[row].value();
        }
      }
      ++benchmark;
    }
    for (const Column& column : columns_) {
      if (column.deviations_of == 0 || columns_[column.deviations_of].is_tag) {
        continue;
      }
      for (size_t row = 0; row < column.cells.size(); ++row) {
        ScoreCell& cell = parsed.table.cell(row, benchmark_of[column.deviations_of]);
        if (column.cells[row].kind == CellKind::kNumber && cell.state == CellState::kValue) {
          cell.standard_deviation = column.cells[row].value();
          cell.seeds = seeds_;
        }
      }
    }
    parsed.table.MergeTies();
    parsed.warnings = std::move(warnings_);
    return parsed;
  }

  absl::string_view file_;
  char separator_;
  std::vector<CsvRecord> records_;
  std::vector<Column> columns_;
  std::vector<AxisEntry> approaches_;
  std::vector<std::string> with_goal_;
  int64_t seeds_ = 0;  // behind standard deviations
  std::vector<std::string> warnings_;
};

}  // namespace

absl::StatusOr<ParsedScores> ParseScoresCsv(absl::string_view text, absl::string_view file,
                                            const ScoresCsvOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(TableText table, ReadTableText(text, file));
  return Reader(file, std::move(table)).Read(options);
}

}  // namespace concur::analysis
