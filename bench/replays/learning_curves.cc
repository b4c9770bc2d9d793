// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/learning_curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/csv.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "core/reported_step.h"

namespace concur::cli {
namespace {

// One line of the file.
struct CurveRow {
  int64_t line = 0;
  std::tuple<std::string, std::string, std::string> cell;  // approach, benchmark, seed
  int64_t setting = 0;
  int64_t step = 0;
  double value = 0;
  std::string name;
  double seconds = 0;  // 0: not stated
};

class CurveFile {
 public:
  explicit CurveFile(const std::string& file) : file_(file) {}

  absl::Status ReadHeader(const CsvRecord& header) {
    for (size_t i = 0; i < header.fields.size(); ++i) {
      if (!columns_.emplace(header.fields[i], i).second) {
        return Error(header.line,
                     absl::StrCat("the column \"", header.fields[i], "\" stands twice"));
      }
    }
    for (const char* required : {"setting", "step", "value"}) {
      if (!columns_.contains(required)) {
        return Error(header.line, absl::StrCat("expected the columns setting, step and value, and "
                                               "perhaps approach, benchmark, seed, name and "
                                               "seconds, got no \"",
                                               required, "\""));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<CurveRow> ReadRow(const CsvRecord& record) const {
    if (record.fields.size() != columns_.size()) {
      return Error(record.line, absl::StrCat("expected ", columns_.size(), " fields, got ",
                                             record.fields.size()));
    }
    CurveRow row;
    row.line = record.line;
    row.cell = {Text(record, "approach"), Text(record, "benchmark"), Text(record, "seed")};
    row.name = Text(record, "name");
    CONCUR_ASSIGN_OR_RETURN(row.setting, Whole(record, "setting"));
    CONCUR_ASSIGN_OR_RETURN(row.step, Whole(record, "step"));
    CONCUR_ASSIGN_OR_RETURN(row.value, Number(record, "value"));
    if (!Text(record, "seconds").empty()) {
      CONCUR_ASSIGN_OR_RETURN(row.seconds, Number(record, "seconds"));
      if (row.seconds < 0) {
        return Error(record.line, "seconds: expected at least 0");
      }
    }
    return row;
  }

  absl::Status Error(int64_t line, const std::string& message) const {
    return absl::InvalidArgumentError(absl::StrCat(file_, ":", line, ": ", message));
  }

 private:
  std::string Text(const CsvRecord& record, const std::string& column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? "" : record.fields[found->second];
  }
  absl::StatusOr<int64_t> Whole(const CsvRecord& record, const std::string& column) const {
    int64_t value = 0;
    const std::string text = Text(record, column);
    if (!absl::SimpleAtoi(text, &value) || value < 0 || value > kStepMax) {
      return Error(record.line,
                   absl::StrCat(column, ": expected a whole number from 0 on, got \"", text, "\""));
    }
    return value;
  }
  absl::StatusOr<double> Number(const CsvRecord& record, const std::string& column) const {
    double value = 0;
    const std::string text = Text(record, column);
    if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
      return Error(record.line, absl::StrCat(column, ": expected a number, got \"", text, "\""));
    }
    return value;
  }

  const std::string& file_;
  std::map<std::string, size_t> columns_;
};

// Leaves the rows of one metric, the stated or the only one.
absl::Status KeepMetric(const std::string& file, const std::string& metric,
                        std::vector<CurveRow>* rows) {
  std::set<std::string> seen;
  for (const CurveRow& row : *rows) {
    seen.insert(row.name);
  }
  const std::vector<std::string> names(seen.begin(), seen.end());
  if (metric.empty() && names.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": expected --metric NAME, one of ",
                                                   FirstNames(names), ", since there are several"));
  }
  if (!metric.empty() && !seen.contains(metric)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": --metric: ", ExpectedOneOf(names, metric)));
  }
  std::erase_if(*rows, [&](const CurveRow& row) { return !metric.empty() && row.name != metric; });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<CellCurves>> ParseCurves(absl::string_view text, const std::string& file,
                                                    const std::string& metric) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ParseCsv(text, file));
  CurveFile reader(file);
  if (records.size() < 2) {
    return reader.Error(1, "expected a header and a line for each step, got none");
  }
  CONCUR_RETURN_IF_ERROR(reader.ReadHeader(records[0]));
  std::vector<CurveRow> rows;
  for (size_t i = 1; i < records.size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(CurveRow row, reader.ReadRow(records[i]));
    rows.push_back(std::move(row));
  }
  CONCUR_RETURN_IF_ERROR(KeepMetric(file, metric, &rows));
  std::sort(rows.begin(), rows.end(), [](const CurveRow& a, const CurveRow& b) {
    return std::tie(a.cell, a.setting, a.step, a.line) <
           std::tie(b.cell, b.setting, b.step, b.line);
  });
  std::vector<CellCurves> cells;
  for (size_t i = 0; i < rows.size(); ++i) {
    const CurveRow& row = rows[i];
    const bool new_cell = i == 0 || rows[i - 1].cell != row.cell;
    if (new_cell) {
      CellCurves& cell = cells.emplace_back();
      std::tie(cell.approach, cell.benchmark, cell.seed) = row.cell;
    }
    CellCurves& cell = cells.back();
    if (new_cell || rows[i - 1].setting != row.setting) {
      cell.settings.push_back(row.setting);
      cell.curves.emplace_back();
    } else if (rows[i - 1].step == row.step) {
      return reader.Error(row.line, absl::StrCat("step ", row.step, " of setting ", row.setting,
                                                 " stands in line ", rows[i - 1].line, " as well"));
    }
    if (row.step == 0) {
      continue;  // from before the training: no rule counts it, as in sweeps
    }
    LearningCurve& curve = cell.curves.back();
    curve.points.push_back({row.step, row.value});
    curve.cost_per_step = row.seconds / static_cast<double>(row.step);
  }
  for (CellCurves& cell : cells) {  // steps, unless all its settings state their seconds
    if (std::any_of(cell.curves.begin(), cell.curves.end(),
                    [](const LearningCurve& curve) { return curve.cost_per_step == 0; })) {
      for (LearningCurve& curve : cell.curves) {
        curve.cost_per_step = 1;
      }
    }
  }
  return cells;
}

}  // namespace concur::cli
