// SPDX-License-Identifier: Apache-2.0
#include "imports/leaderboard_columns.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/metric_meaning.h"

namespace concur::imports {
namespace {

bool OneOf(absl::string_view name, std::initializer_list<absl::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr double kScoreMax = 1e15;  // as of the metrics of a job

std::optional<double> PlainNumber(absl::string_view text) {
  double value = 0;
  // "1,234.5" has thousands apart; "71,2", "0,123" and "1234,567" can only be decimal commas, which
  // ReadDecimalCommas finds by their column.
  std::string digits(text);
  if (absl::StrContains(text, ',')) {
    const std::vector<absl::string_view> groups = absl::StrSplit(text, ',');
    absl::string_view first = groups[0];
    if (!absl::ConsumePrefix(&first, "-")) {
      absl::ConsumePrefix(&first, "+");
    }
    if (first.empty() || first.size() > 3 || first[0] == '0') {
      return std::nullopt;
    }
    for (size_t i = 1; i < groups.size(); ++i) {
      const absl::string_view whole = groups[i].substr(0, groups[i].find('.'));
      if (whole.size() != 3) {
        return std::nullopt;
      }
    }
    digits = absl::StrReplaceAll(text, {{",", ""}});
  }
  if (digits.empty() || !(absl::ascii_isdigit(digits.back()) || digits.back() == '.') ||
      absl::StartsWithIgnoreCase(digits, "0x") || !absl::SimpleAtod(digits, &value) ||
      !(std::abs(value) <= kScoreMax)) {
    return std::nullopt;
  }
  return value;
}

// Whether the name of a column says that it is about the model, whatever its values.
bool NamesTag(const std::string& name) {
  if (OneOf(name, {"#",
                   "rank",
                   "url",
                   "link",
                   "paper",
                   "code",
                   "parameters",
                   "params",
                   "#params",
                   "# params",
                   "size",
                   "model size",
                   "params (b)",
                   "#params (b)",
                   "release",
                   "date",
                   "year",
                   "submission date",
                   "upload to hub date",
                   "upload date",
                   "license",
                   "likes",
                   "hub ❤️",
                   "hub likes",
                   "downloads",
                   "type",
                   "t",
                   "architecture",
                   "precision",
                   "weight type",
                   "revision",
                   "model sha",
                   "sha",
                   "company",
                   "organization",
                   "organisation",
                   "provider",
                   "developer",
                   "team",
                   "name",
                   "base model",
                   "available",
                   "available on the hub",
                   "flagged",
                   "merged",
                   "moe",
                   "generation",
                   "chat template",
                   "co2 cost (kg)",
                   "co₂ cost (kg)",
                   "max tokens",
                   "context",
                   "context length",
                   "embedding dimensions",
                   "memory usage (mb)",
                   "number of parameters",
                   "source",
                   "tag",
                   "tags",
                   "aggragated from",
                   "aggregated from",
                   "price",
                   "votes",
                   "knowledge cutoff",
                   "id",
                   "eval id",
                   "index",
                   "unnamed: 0",
                   "zero-shot",
                   "n",
                   "seed",
                   "notes",
                   "comment"})) {
    return true;
  }
  return absl::StartsWith(name, "#param") || absl::StartsWith(name, "rank ") ||
         absl::EndsWith(name, " date") || absl::EndsWith(name, " url") ||
         absl::StartsWith(name, "rank(");
}

constexpr std::initializer_list<absl::string_view> kModelNames = {
    "model",           "model name", "model/adapter", "models", "eval name",  "fullname",
    "full model name", "approach",   "system",        "method", "submission", "name",
    "entry",           "algorithm",  "encoder",       "agent"};

// A model's column by name, in the order of kModelNames, else the first one.
std::optional<size_t> NamedColumn(const LeaderboardTable& table,
                                  std::initializer_list<absl::string_view> names) {
  for (const absl::string_view name : names) {
    for (size_t c = 0; c < table.header.size(); ++c) {
      if (PlainName(table.header[c]) == name) {
        return c;
      }
    }
  }
  return std::nullopt;
}

struct ColumnCounts {
  size_t gaps = 0;
  size_t scores = 0;
  size_t other = 0;
  size_t percent = 0;
};

ColumnCounts CountColumn(const LeaderboardTable& table, size_t column) {
  ColumnCounts counts;
  for (const LeaderboardTable::Row& row : table.rows) {
    const std::string& field = row.fields[column];
    if (IsGap(field)) {
      ++counts.gaps;
    } else if (const auto score = ParseScore(field)) {
      ++counts.scores;
      counts.percent += score->percent ? 1 : 0;
    } else {
      ++counts.other;
    }
  }
  return counts;
}

// A score here and there that cannot be read is skipped and named; a column of words is a tag.
bool IsNumeric(const ColumnCounts& counts) {
  return counts.scores > 0 && counts.scores >= 4 * counts.other;
}

std::string WithPoints(absl::string_view field) { return absl::StrReplaceAll(field, {{",", "."}}); }

// Least squares by Gaussian elimination with pivoting: x'x b = x'y. False when it is singular.
bool Solve(std::vector<std::vector<double>>& a, std::vector<double>& b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t r = i + 1; r < n; ++r) {
      pivot = std::abs(a[r][i]) > std::abs(a[pivot][i]) ? r : pivot;
    }
    if (std::abs(a[pivot][i]) < 1e-9) {
      return false;
    }
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (size_t r = 0; r < n; ++r) {
      const double factor = r == i ? 0 : a[r][i] / a[i][i];
      for (size_t c = i; factor != 0 && c < n; ++c) {
        a[r][c] -= factor * a[i][c];
      }
      b[r] -= factor * b[i];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    b[i] /= a[i][i];
  }
  return true;
}

// Standardized scores of the rows that have one in every column.
std::vector<std::vector<double>> CompleteScores(const LeaderboardTable& table,
                                                const std::vector<size_t>& columns) {
  std::vector<std::vector<double>> complete;
  for (const LeaderboardTable::Row& row : table.rows) {
    std::vector<double> values;
    for (const size_t column : columns) {
      const std::optional<ParsedScore> score = ParseScore(row.fields[column]);
      if (!score.has_value()) {
        break;
      }
      values.push_back(score->value);
    }
    if (values.size() == columns.size()) {
      complete.push_back(std::move(values));
    }
  }
  return complete;
}

// Sums over the rows of products of two columns, each less its mean: columns × columns.
std::vector<std::vector<double>> CentredProducts(const std::vector<std::vector<double>>& rows) {
  const size_t n = rows[0].size();
  std::vector<double> means(n, 0.0);
  for (const std::vector<double>& row : rows) {
    for (size_t c = 0; c < n; ++c) {
      means[c] += row[c] / static_cast<double>(rows.size());
    }
  }
  std::vector<std::vector<double>> products(n, std::vector<double>(n, 0.0));
  std::vector<double> centred(n, 0.0);
  for (const std::vector<double>& row : rows) {
    for (size_t c = 0; c < n; ++c) {
      centred[c] = row[c] - means[c];
    }
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        products[i][j] += centred[i] * centred[j];
      }
    }
  }
  return products;
}

// Whether column `of` is, but for rounding, a mean of some of the others with positive weights: a
// regression on the others explains it wholly, its weights add to about one, and none is below
// zero. (A single benchmark is explained by the mean and the others, too, with weights below zero.)
// `products` as of CentredProducts.
bool IsMeanOfColumns(const std::vector<std::vector<double>>& products, size_t of) {
  const size_t n = products.size();
  std::vector<std::vector<double>> a(n - 1, std::vector<double>(n - 1, 0.0));
  std::vector<double> b(n - 1, 0.0);
  const auto other = [of](size_t i) { return i < of ? i : i + 1; };
  const double total = products[of][of];
  for (size_t i = 0; i + 1 < n; ++i) {
    b[i] = products[other(i)][of];
    for (size_t j = 0; j + 1 < n; ++j) {
      a[i][j] = products[other(i)][other(j)];
    }
  }
  std::vector<double> weights = b;
  std::vector<double> spread(n - 1, 0.0);
  for (size_t i = 0; i + 1 < n; ++i) {
    spread[i] = a[i][i];
  }
  if (total == 0 || !Solve(a, weights)) {
    return false;
  }
  double left = total;
  double sum = 0;
  size_t used = 0;
  for (size_t i = 0; i + 1 < n; ++i) {
    left -= weights[i] * b[i];
    sum += weights[i];
    used += weights[i] > 0.02 ? 1 : 0;
    // In units of the mean's own spread: a column in another unit may have any weight.
    if (weights[i] < 0 && weights[i] * weights[i] * spread[i] > 4e-4 * total) {
      return false;
    }
  }
  return used >= 3 && left < 1e-4 * total && sum > 0.9 && sum < 1.1;
}

// The part after " - ", as in "NarrativeQA - F1".
std::string MetricIn(absl::string_view name) {
  const size_t dash = name.rfind(" - ");
  return dash == absl::string_view::npos ? "score" : std::string(name.substr(dash + 3));
}

absl::Status CheckNamed(const LeaderboardTable& table, const std::vector<std::string>& names,
                        absl::string_view option, absl::string_view path) {
  for (const std::string& name : names) {
    if (std::find(table.header.begin(), table.header.end(), name) == table.header.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", option, ": no column \"", name, "\""));
    }
  }
  return absl::OkStatus();
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool IsGap(absl::string_view field) {
  const std::string plain = absl::AsciiStrToLower(absl::StripAsciiWhitespace(field));
  return OneOf(plain, {"", "-", "--", "–", "—", "n/a", "na", "nan", "none", "null", "?", "missing",
                       "tbd", "n.a.", "inf", "-inf"});
}

std::optional<ParsedScore> ParseScore(absl::string_view field) {
  ParsedScore score;
  field = absl::StripAsciiWhitespace(field);
  for (const char* margin : {"±", "+/-"}) {
    field = absl::StripAsciiWhitespace(field.substr(0, field.find(margin)));
  }
  while (absl::ConsumeSuffix(&field, "*") || absl::ConsumeSuffix(&field, "†") ||
         absl::ConsumeSuffix(&field, "‡") || absl::ConsumePrefix(&field, "*")) {  // **best**
  }
  score.percent = absl::ConsumeSuffix(&field, "%");
  field = absl::StripAsciiWhitespace(field);
  const std::vector<absl::string_view> parts = absl::StrSplit(field, '/');
  if (parts.size() > 2) {
    return std::nullopt;  // a date
  }
  double sum = 0;
  for (const absl::string_view part : parts) {
    const std::optional<double> value = PlainNumber(absl::StripAsciiWhitespace(part));
    if (!value.has_value()) {
      return std::nullopt;
    }
    sum += *value;
    if (parts.size() > 1) {
      score.parts.push_back(*value);
    }
  }
  score.value = sum / static_cast<double>(parts.size());
  return score;
}

void ReadDecimalCommas(char separator, LeaderboardTable& table) {
  for (size_t c = 0; c < table.header.size(); ++c) {
    const auto has_comma = [c](const LeaderboardTable::Row& row) {
      return absl::StrContains(row.fields[c], ',');
    };
    if (std::none_of(table.rows.begin(), table.rows.end(), has_comma)) {
      continue;
    }
    ColumnCounts counts;
    bool has_decimals = false;
    bool has_thousands = false;
    for (const LeaderboardTable::Row& row : table.rows) {
      const std::string& field = row.fields[c];
      if (IsGap(field)) {
        continue;
      }
      const bool can_be_decimal = ParseScore(WithPoints(field)).has_value();
      if (ParseScore(field).has_value()) {
        ++counts.scores;
        has_thousands = has_thousands || !can_be_decimal;
      } else if (can_be_decimal) {
        ++counts.scores;
        has_decimals = true;
      } else {
        ++counts.other;
      }
    }
    const bool are_decimals = has_decimals || (separator == ';' && !has_thousands);
    if (!are_decimals || !IsNumeric(counts)) {
      continue;
    }
    for (LeaderboardTable::Row& row : table.rows) {
      std::string& field = row.fields[c];
      if (ParseScore(WithPoints(field)).has_value()) {
        field = WithPoints(field);
      }
    }
  }
}

std::string PlainName(absl::string_view name) {
  std::string plain = absl::AsciiStrToLower(absl::StrReplaceAll(
      name, {{"_", " "}, {"↑", ""}, {"↓", ""}, {"⬆️", ""}, {"⬇️", ""}}));
  return std::string(absl::StripAsciiWhitespace(plain));
}

bool NamesAggregate(absl::string_view name) {
  const std::string plain = PlainName(name);
  return OneOf(plain, {"average",
                       "avg",
                       "avg.",
                       "mean",
                       "overall",
                       "total",
                       "score",
                       "macro avg",
                       "average score",
                       "overall score",
                       "global average",
                       "mean rank",
                       "mean score",
                       "mean win rate",
                       "win rate",
                       "mean (task)",
                       "mean (tasktype)",
                       "mean (task type)",
                       "borda",
                       "rank (borda)",
                       "average rank"}) ||
         absl::StartsWith(plain, "mean (") || absl::StartsWith(plain, "average (") ||
         absl::StartsWith(plain, "mean win rate");
}

std::string TagName(absl::string_view column) {
  std::string name;
  for (const char c : PlainName(column)) {
    const bool is_safe = absl::ascii_isalnum(c) || absl::StrContains("._+-@=", c);
    if (is_safe && (absl::ascii_isalnum(c) || !name.empty())) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') {
    name.pop_back();
  }
  return name.empty() ? "column" : name.substr(0, 100);
}

absl::StatusOr<std::vector<ColumnPlan>> PlanColumns(const LeaderboardTable& table,
                                                    const ReadOptions& options,
                                                    absl::string_view path) {
  for (const auto& [names, option] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {options.leave_out, "--leave-out"},
           {options.keep, "--keep"},
           {options.model_column.empty() ? std::vector<std::string>()
                                         : std::vector<std::string>{options.model_column},
            "--model-column"}}) {
    const absl::Status known = CheckNamed(table, names, option, path);
    if (!known.ok()) {
      return known;
    }
  }
  size_t model = NamedColumn(table, kModelNames).value_or(0);
  for (size_t c = 0; c < table.header.size(); ++c) {
    model = table.header[c] == options.model_column && !options.model_column.empty() ? c : model;
  }
  std::vector<ColumnPlan> plan(table.header.size());
  std::vector<size_t> candidates;
  for (size_t c = 0; c < table.header.size(); ++c) {
    const std::string& header = table.header[c];
    const std::string plain = PlainName(header);
    ColumnPlan& column = plan[c];
    column.name = std::string(absl::StripAsciiWhitespace(
        absl::StrReplaceAll(header, {{"↑", ""}, {"↓", ""}, {"⬆️", ""}, {"⬇️", ""}})));
    if (c == model) {
      column.kind = ColumnKind::kModel;
      continue;
    }
    const ColumnCounts counts = CountColumn(table, c);
    const bool is_kept = Has(options.keep, header);
    const bool is_number = IsNumeric(counts);
    if (!is_kept && NamesAggregate(header) && is_number) {
      column.kind = ColumnKind::kAggregate;
      column.reason = "a column that is called a mean or an overall score";
    } else if (is_kept || (is_number && !NamesTag(plain) && !Has(options.leave_out, header))) {
      column.kind = ColumnKind::kScore;
      column.metric = MetricIn(column.name);
      column.meaning.goal = absl::StrContains(header, "↓") || absl::StrContains(header, "⬇️") ||
                                    UsuallyMinimized(column.name)
                                ? Goal::kMinimize
                                : Goal::kMaximize;
      if (counts.percent == counts.scores) {
        column.meaning.scale.kind = Scale::Kind::kPercent;
      }
      candidates.push_back(c);
    } else {
      column.name = TagName(header);
    }
  }
  for (const size_t c : MeansOfOthers(table, candidates)) {
    if (!Has(options.keep, table.header[c])) {
      plan[c].kind = ColumnKind::kAggregate;
      plan[c].reason = "a column that is a mean of others";
    }
  }
  return plan;
}

std::vector<size_t> MeansOfOthers(const LeaderboardTable& table,
                                  const std::vector<size_t>& columns) {
  constexpr size_t kComparedMax = 200;
  std::vector<size_t> means;
  if (columns.size() > kComparedMax) {
    return means;
  }
  const std::vector<std::vector<double>> rows = CompleteScores(table, columns);
  // With fewer rows a regression explains anything.
  if (columns.size() < 4 || rows.size() < columns.size() + 5) {
    return means;
  }
  const std::vector<std::vector<double>> products = CentredProducts(rows);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (IsMeanOfColumns(products, i)) {
      means.push_back(columns[i]);
    }
  }
  return means;
}

std::optional<LongColumns> FindLongColumns(const LeaderboardTable& table,
                                           const ReadOptions& options) {
  LongColumns columns;
  std::optional<size_t> model = NamedColumn(table, kModelNames);
  for (size_t c = 0; c < table.header.size(); ++c) {
    if (!options.model_column.empty() && table.header[c] == options.model_column) {
      model = c;
    }
  }
  const std::optional<size_t> task =
      NamedColumn(table, {"task", "scenario", "benchmark", "dataset", "task name", "test",
                          "test set", "benchmark name", "evaluation", "subject"});
  if (!model.has_value() || !task.has_value() || *model == *task) {
    return std::nullopt;
  }
  columns.metric = NamedColumn(table, {"metric", "metric name", "measure"});
  columns.repeat = NamedColumn(table, {"repeat", "seed", "run", "trial", "epoch", "repetition"});
  columns.standard_error =
      NamedColumn(table, {"stderr", "standard error", "std err", "se", "std error"});
  columns.examples = NamedColumn(table, {"examples", "n", "samples", "n samples", "num samples"});
  std::optional<size_t> score = NamedColumn(table, {"score", "value", "result", "metric value"});
  size_t numeric = 0;
  for (size_t c = 0; !score.has_value() && c < table.header.size(); ++c) {
    if (c == *model || c == *task || columns.repeat == c || columns.standard_error == c ||
        columns.examples == c || NamesTag(PlainName(table.header[c]))) {
      continue;
    }
    const ColumnCounts counts = CountColumn(table, c);
    if (counts.scores > 0 && counts.other == 0) {
      ++numeric;
      columns.score = c;
    }
  }
  if (!score.has_value() && numeric != 1) {
    return std::nullopt;
  }
  columns.model = *model;
  columns.task = *task;
  columns.score = score.value_or(columns.score);
  // A table with a row for each model may have a column "Task", but then each model stands once.
  std::map<std::string, size_t> rows;
  for (const LeaderboardTable::Row& row : table.rows) {
    ++rows[row.fields[*model]];
  }
  if (!score.has_value() && rows.size() == table.rows.size()) {
    return std::nullopt;
  }
  return columns;
}

}  // namespace concur::imports
