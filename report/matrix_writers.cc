// SPDX-License-Identifier: Apache-2.0
// Matrices in every form.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/concurrence/bounds.h"
#include "analysis/concurrence/difference.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/structure.h"
#include "analysis/families.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"
#include "analysis/statistics/multiplicity.h"
#include "base/decimal.h"
#include "report/json_text.h"
#include "report/notes.h"
#include "report/table.h"
#include "report/text.h"
#include "report/writers.h"

namespace concur::analysis {
namespace {

constexpr size_t kBlockNameMax = 24;  // it stands in every block of columns
constexpr size_t kPipeWidth = 80;     // where a matrix goes that is not written to a terminal

std::vector<std::string> MissingNames(const ConcurrenceMatrix& matrix, const MatrixPair& pair) {
  std::vector<std::string> names;
  for (const size_t approach : pair.missing) {
    names.push_back(matrix.approaches[approach]);
  }
  return names;
}

// A lower triangle; benchmarks are numbered, and named across too where there is room.
Table TriangleTable(const ConcurrenceMatrix& matrix, TableFormat format, bool with_intervals) {
  constexpr size_t kShortName = 8;
  const size_t n = matrix.benchmarks.size();
  const bool is_markdown = format == TableFormat::kMarkdown;
  const bool with_names =
      is_markdown ||
      (format == TableFormat::kText &&
       std::all_of(matrix.benchmarks.begin(), matrix.benchmarks.end(),
                   [](const std::string& name) { return DisplayWidth(name) <= kShortName; }));
  Table table;
  table.columns = {{"", is_markdown ? "#" : "", !is_markdown},
                   {"", is_markdown ? "benchmark" : ""}};
  table.columns[1].width_max = kBlockNameMax;
  table.key_columns = 2;
  for (size_t b = 0; b + 1 < n; ++b) {
    table.columns.push_back({"", with_names ? matrix.benchmarks[b] : absl::StrCat(b + 1), true});
  }
  for (size_t b = 0; b < n; ++b) {
    TableRow row = {IntegerCell(static_cast<int64_t>(b) + 1), TextCell(matrix.benchmarks[b])};
    for (size_t a = 0; a < b; ++a) {
      row.push_back(TextCell(PairText(matrix.pair(a, b), with_intervals)));
    }
    row.resize(table.columns.size(), TextCell(""));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// A row for each pair.
Table PairTable(const ConcurrenceMatrix& matrix) {
  Table table;
  table.key_columns = 2;
  table.columns = {ForPrograms("coefficient"),
                   {"a", "a"},
                   {"b", "b"},
                   {"n", "n", true},
                   {"value", "value", true},
                   {"low", "low", true},
                   {"high", "high", true},
                   {"noise_free", "noise-free", true},
                   ForPrograms("undefined"),
                   ForPrograms("missing")};
  table.columns[1].width_max = table.columns[2].width_max = kPairNameMax;
  if (matrix.with_bounds) {
    for (const char* key : {"bound_low", "bound_high", "bound_exact"}) {
      table.columns.push_back(ForPrograms(key));
    }
  }
  const size_t warning_at = table.columns.size();
  table.columns.push_back(ForPrograms("warning"));
  if (matrix.with_p_values) {
    table.columns.push_back({"p_value", "p", true, 4});
    table.columns.push_back({"p_holm", "p (Holm)", true, 4});
    table.columns.push_back(ForPrograms("p_bh"));
  }
  const bool has_noise_free =
      std::any_of(matrix.pairs.begin(), matrix.pairs.end(),
                  [](const MatrixPair& pair) { return pair.noise_free.has_value(); });
  if (!has_noise_free) {
    table.columns[7].audience = TableColumn::Audience::kPrograms;
  }
  const CorrectedPValues p(matrix);
  for (size_t i = 0; i < matrix.pairs.size(); ++i) {
    const MatrixPair& pair = matrix.pairs[i];
    const Correlation& correlation = pair.correlation;
    table.rows.push_back({TextCell(std::string(CoefficientName(matrix.coefficient))),
                          TextCell(matrix.benchmarks[pair.a]), TextCell(matrix.benchmarks[pair.b]),
                          WithFootnote(IntegerCell(correlation.n), pair.missing.empty() ? "" : "*"),
                          CoefficientCell(correlation.OptionalValue()), LowCell(pair.interval),
                          WithFootnote(HighCell(pair.interval), DaggerOf(pair.interval)),
                          NumberCell(pair.noise_free),
                          TextCell(std::string(UndefinedReason(correlation.undefined))),
                          TextCell(absl::StrJoin(MissingNames(matrix, pair), "; "))});
    TableRow& row = table.rows.back();
    if (matrix.with_bounds && pair.bounds.has_value()) {
      row.push_back(NumberCell(pair.bounds->low));
      row.push_back(NumberCell(pair.bounds->high));
      row.push_back(YesNoCell(pair.bounds->exact));
    }
    row.resize(warning_at);
    row.push_back(TextCell(pair.warning));
    if (matrix.with_p_values) {
      row.push_back(PValueCell(correlation.p_value));
      row.push_back(PValueCell(p.holm[i]));
      row.push_back(NumberCell(p.bh[i]));
    }
  }
  return table;
}

// The strongest influences over all pairs.
std::string InfluenceText(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  constexpr size_t kLinesMax = 20;
  std::vector<std::pair<const MatrixPair*, const Influence*>> all;
  for (const MatrixPair& pair : matrix.pairs) {
    for (const Influence& influence : pair.influences) {
      all.emplace_back(&pair, &influence);
    }
  }
  if (all.empty()) {
    return "";
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) {
    return std::abs(x.second->change) > std::abs(y.second->change);
  });
  Table table;
  table.title = "Approaches that move a pair most:";
  table.key_columns = 3;
  table.columns = {{"a", "a"},
                   {"b", "b"},
                   {"approach", "approach"},
                   {"value", "value", true},
                   {"without", "without it", true}};
  for (size_t i = 0; i < std::min(all.size(), kLinesMax); ++i) {
    const auto& [pair, influence] = all[i];
    table.rows.push_back(
        {TextCell(matrix.benchmarks[pair->a]), TextCell(matrix.benchmarks[pair->b]),
         TextCell(matrix.approaches[influence->approach]), NumberCell(pair->correlation.value),
         CoefficientCell(influence->without)});
  }
  return absl::StrCat(
      "\n", WriteTable(table, TableFormat::kText, options),
      all.size() > kLinesMax ? absl::StrCat("and ", all.size() - kLinesMax, " weaker ones\n") : "");
}

std::string SwapText(const ConcurrenceMatrix& matrix) {
  if (!matrix.with_swaps) {
    return "";
  }
  constexpr size_t kLinesMax = 20;
  std::string text;
  for (const MatrixPair& pair : matrix.pairs) {
    absl::StrAppend(&text, "\n", ScreenName(matrix.benchmarks[pair.a]), " – ",
                    ScreenName(matrix.benchmarks[pair.b]), ": ", pair.swaps.size(), " of ",
                    pair.correlation.n * (pair.correlation.n - 1) / 2,
                    " pairs of approaches swap places\n");
    for (size_t i = 0; i < std::min(pair.swaps.size(), kLinesMax); ++i) {
      const Swap& swap = pair.swaps[i];
      absl::StrAppend(&text, "  ", ScreenName(matrix.approaches[swap.first]), " ahead by ",
                      Fixed(swap.margin_a, matrix.decimals[pair.a]), ", then ",
                      ScreenName(matrix.approaches[swap.second]), " by ",
                      Fixed(swap.margin_b, matrix.decimals[pair.b]), "\n");
    }
    if (pair.swaps.size() > kLinesMax) {
      absl::StrAppend(&text, "  and ", pair.swaps.size() - kLinesMax, " closer ones\n");
    }
  }
  return text;
}

void AddStructureJson(const ConcurrenceMatrix& matrix, const MatrixPair& pair, Json& json) {
  if (!pair.influences.empty()) {
    json["influences"] = Json::array();
    for (const Influence& influence : pair.influences) {
      json["influences"].push_back(
          {{"approach", matrix.approaches[influence.approach]},
           {"without", NumberOrNull(influence.without)},
           {"change", influence.without.has_value() ? Json(influence.change) : Json()}});
    }
  }
  if (matrix.with_swaps) {
    json["swaps"] = Json::array();
    for (const Swap& swap : pair.swaps) {
      json["swaps"].push_back({{"first", matrix.approaches[swap.first]},
                               {"second", matrix.approaches[swap.second]},
                               {"margin_a", swap.margin_a},
                               {"margin_b", swap.margin_b}});
    }
  }
}

// Text on how far missing scores could move each pair that lacks some.
std::string BoundsText(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  if (!matrix.with_bounds) {
    return "";
  }
  Table table;
  table.title = "Bounds over all values that the missing scores could have:";
  table.key_columns = 2;
  table.columns = {{"a", "a"},
                   {"b", "b"},
                   {"missing", "missing", true},
                   {"value", "value", true},
                   {"low", "at least", true},
                   {"high", "at most", true}};
  bool searched = false;
  for (const MatrixPair& pair : matrix.pairs) {
    if (pair.missing.empty()) {
      continue;
    }
    TableRow row = {TextCell(matrix.benchmarks[pair.a]),
                    TextCell(matrix.benchmarks[pair.b]),
                    IntegerCell(static_cast<int64_t>(pair.missing.size())),
                    CoefficientCell(pair.correlation.OptionalValue()),
                    TableCell(),
                    TableCell()};
    if (pair.bounds.has_value()) {
      const char* mark = pair.bounds->exact ? "" : " ~";
      searched = searched || !pair.bounds->exact;
      row[2] = IntegerCell(static_cast<int64_t>(pair.bounds->missing));
      row[4] = WithFootnote(NumberCell(pair.bounds->low), mark);
      row[5] = WithFootnote(NumberCell(pair.bounds->high), mark);
    }
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) {
    return "\nBounds: no score is missing, so that each value is its own bound.\n";
  }
  return absl::StrCat(
      "\n", WriteTable(table, TableFormat::kText, options),
      searched ? "~ found by search: reached for certain, and might be passed\n" : "");
}

std::string DifferenceText(const ConcurrenceMatrix& matrix) {
  std::string text;
  for (const PairDifference& difference : matrix.differences) {
    const DifferenceQuery& of = difference.of;
    absl::StrAppend(
        &text, text.empty() ? "\nDifferences between pairs, from the same replicates:\n" : "",
        "  (", ScreenName(of.a), " – ", ScreenName(of.b), ") less (", ScreenName(of.c), " – ",
        ScreenName(of.d), "): ", FixedOrUndef(difference.value, 2),
        difference.interval.has_value() ? " " + IntervalText(*difference.interval, 2) : "",
        difference.p_value.has_value() ? ", p " + Fixed(*difference.p_value, 4) : "",
        difference.warning.empty() ? "" : absl::StrCat("  (", difference.warning, ")"), "\n");
  }
  return text;
}

// Sets "low" and "high", null without an interval.
void AddEnds(const std::optional<Interval>& interval, Json& json) {
  json["low"] = interval.has_value() ? Json(interval->low) : Json();
  json["high"] = interval.has_value() ? Json(interval->high) : Json();
}

Json DifferenceJson(const PairDifference& difference) {
  Json json;
  json["a"] = difference.of.a;
  json["b"] = difference.of.b;
  json["less_a"] = difference.of.c;
  json["less_b"] = difference.of.d;
  json["n"] = difference.n_first;
  json["less_n"] = difference.n_second;
  json["difference"] = NumberOrNull(difference.value);
  AddEnds(difference.interval, json);
  json["p_value"] = NumberOrNull(difference.p_value);
  if (!difference.warning.empty()) {
    json["warning"] = difference.warning;
  }
  return json;
}

Json PairJson(const ConcurrenceMatrix& matrix, const CorrectedPValues& p, size_t index) {
  const MatrixPair& pair = matrix.pairs[index];
  const Correlation& correlation = pair.correlation;
  Json json;
  json["a"] = matrix.benchmarks[pair.a];
  json["b"] = matrix.benchmarks[pair.b];
  json["n"] = correlation.n;
  json["value"] = NumberOrNull(correlation.OptionalValue());
  AddEnds(pair.interval, json);
  if (pair.noise_free.has_value()) {
    json["noise_free"] = *pair.noise_free;
  }
  if (matrix.with_p_values) {
    const auto p_or_null = [](double value) { return std::isnan(value) ? Json() : Json(value); };
    json["p_value"] = p_or_null(correlation.p_value);
    json["p_holm"] = p_or_null(p.holm[index]);
    json["p_bh"] = p_or_null(p.bh[index]);
  }
  if (!correlation.defined()) {
    json["undefined"] = std::string(UndefinedReason(correlation.undefined));
  }
  if (!pair.warning.empty()) {
    json["warning"] = pair.warning;
  }
  json["missing"] = MissingNames(matrix, pair);
  AddStructureJson(matrix, pair, json);
  if (matrix.with_bounds) {
    json["bounds"] = pair.bounds.has_value() ? Json{{"low", pair.bounds->low},
                                                    {"high", pair.bounds->high},
                                                    {"missing", pair.bounds->missing},
                                                    {"exact", pair.bounds->exact}}
                                             : Json();
  }
  return json;
}

size_t WidestLine(const std::string& text) {
  size_t width = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    width = std::max(width, DisplayWidth(line));
  }
  return width;
}

// A grid always. Where there is no room for intervals they are left out, or follow as a list of
// pairs; a grid that is still too wide comes in blocks of columns.
std::string MatrixText(const ConcurrenceMatrix& matrix, const MatrixTextOptions& options) {
  TextOptions text = options.text;
  Table table = TriangleTable(matrix, TableFormat::kText, /*with_intervals=*/true);
  const size_t needed = WidestLine(WriteTable(table, TableFormat::kText));
  const bool is_wide = needed > (text.width > 0 ? text.width : kPipeWidth);
  const bool is_cut = is_wide && matrix.level > 0;
  if (is_wide) {
    table = TriangleTable(matrix, TableFormat::kText, /*with_intervals=*/false);
    text.width = text.width > 0 ? text.width : kPipeWidth;
  }
  table.title = MatrixTitle(matrix);
  table.notes = MatrixNotes(matrix);
  table.details = MatrixDetails(matrix);
  std::string pairs;
  if (is_cut && options.list_intervals) {
    pairs = absl::StrCat("\n", WriteTable(PairTable(matrix), TableFormat::kText, options.text));
  } else if (is_cut) {
    table.notes.push_back("--intervals lists the intervals, for which there is no room.");
  }
  return absl::StrCat(WriteTable(table, TableFormat::kText, text), pairs,
                      InfluenceText(matrix, options.text), SwapText(matrix),
                      BoundsText(matrix, options.text), DifferenceText(matrix));
}

std::string MatrixJson(const ConcurrenceMatrix& matrix) {
  Json json;
  json["coefficient"] = std::string(CoefficientName(matrix.coefficient));
  if (matrix.ties_within > 0) {
    json["ties_within"] = matrix.ties_within;
  }
  if (matrix.level > 0) {
    json["level"] = matrix.level;
    json["interval_method"] = matrix.interval_method;
  }
  json["benchmarks"] = matrix.benchmarks;
  json["approaches"] = matrix.approaches;
  if (const std::vector<std::string> choices = ChoiceNotes(matrix); !choices.empty()) {
    json["choices"] = choices;
  }
  if (!matrix.minimized.empty()) {
    json["minimized"] = matrix.minimized;
  }
  if (!matrix.left_out.empty()) {
    json["left_out"] = matrix.left_out;
  }
  if (!matrix.flags.empty()) {
    json["flags"] = Json::array();
    for (const BenchmarkFlag& flag : matrix.flags) {
      json["flags"].push_back({{"benchmark", matrix.benchmarks[flag.benchmark]},
                               {"flag", BenchmarkFlagName(flag.kind)},
                               {"approaches", flag.approaches}});
    }
  }
  if (matrix.families.declared()) {
    json["families"] = {{"tag", matrix.families.tag},
                        {"count", matrix.families.members.size()},
                        {"effective_families", matrix.families.effective},
                        {"intraclass_correlation", matrix.families.intraclass},
                        {"effective_approaches", matrix.families.approaches}};
  }
  if (std::vector<std::string> warnings = MatrixWarnings(matrix); !warnings.empty()) {
    json["warnings"] = std::move(warnings);
  }
  json["pairs"] = Json::array();
  const CorrectedPValues p(matrix);
  for (size_t i = 0; i < matrix.pairs.size(); ++i) {
    json["pairs"].push_back(PairJson(matrix, p, i));
  }
  if (!matrix.differences.empty()) {
    json["differences"] = Json::array();
    for (const PairDifference& difference : matrix.differences) {
      json["differences"].push_back(DifferenceJson(difference));
    }
  }
  return JsonLine(json);
}

std::string MatrixJsonLines(const ConcurrenceMatrix& matrix) {
  std::string text;
  const CorrectedPValues p(matrix);
  for (size_t i = 0; i < matrix.pairs.size(); ++i) {
    Json json;
    json["coefficient"] = std::string(CoefficientName(matrix.coefficient));
    if (matrix.ties_within > 0) {
      json["ties_within"] = matrix.ties_within;
    }
    json.update(PairJson(matrix, p, i));
    text += JsonLine(json);
  }
  for (const PairDifference& difference : matrix.differences) {
    Json json;
    json["coefficient"] = std::string(CoefficientName(matrix.coefficient));
    if (matrix.ties_within > 0) {
      json["ties_within"] = matrix.ties_within;
    }
    json.update(DifferenceJson(difference));
    text += JsonLine(json);
  }
  return text;
}

}  // namespace

std::string WriteMatrix(const ConcurrenceMatrix& matrix, TableFormat format,
                        const MatrixTextOptions& options) {
  switch (format) {
    case TableFormat::kText:
      return MatrixText(matrix, options);
    case TableFormat::kCsv:
      return WriteTable(PairTable(matrix), format);
    case TableFormat::kJson:
    case TableFormat::kJsonList:
      return MatrixJson(matrix);
    case TableFormat::kJsonLines:
      return MatrixJsonLines(matrix);
    case TableFormat::kMarkdown:
    case TableFormat::kLatex:
      break;
  }
  Table table = TriangleTable(matrix, format, /*with_intervals=*/true);
  table.title = MatrixTitle(matrix);
  table.notes = MatrixNotes(matrix);
  table.details = MatrixDetails(matrix);
  return WriteTable(table, format, options.text);
}

}  // namespace concur::analysis
