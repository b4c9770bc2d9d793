// Matrices: the second half of writers.h.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/bounds.h"
#include "analysis/correlation.h"
#include "analysis/csv.h"
#include "analysis/difference.h"
#include "analysis/matrix.h"
#include "analysis/notes.h"
#include "analysis/structure.h"
#include "analysis/text_table.h"
#include "analysis/writers.h"

namespace concur::analysis {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

// A lower triangle; benchmarks are numbered, and named across too where all names are short.
TextTable Triangle(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  constexpr size_t kNameMax = 40;
  constexpr size_t kShortName = 8;
  const size_t n = matrix.benchmarks.size();
  const bool short_names =
      std::all_of(matrix.benchmarks.begin(), matrix.benchmarks.end(),
                  [](const std::string& name) { return DisplayWidth(name) <= kShortName; });
  std::vector<TextTable::Align> aligns = {TextTable::Align::kRight, TextTable::Align::kLeft};
  aligns.resize(n + 1, TextTable::Align::kRight);
  TextTable text(aligns);
  std::vector<std::string> heading = {"", ""};
  for (size_t b = 0; b + 1 < n; ++b) {
    heading.push_back(short_names ? Printable(matrix.benchmarks[b]) : absl::StrCat(b + 1));
  }
  text.AddRow(std::move(heading));
  for (size_t b = 0; b < n; ++b) {
    std::vector<std::string> row = {absl::StrCat(b + 1), Printable(matrix.benchmarks[b], kNameMax)};
    for (size_t a = 0; a < b; ++a) {
      row.push_back(PairText(matrix.pair(a, b), options.decimals));
    }
    text.AddRow(std::move(row));
  }
  return text;
}

std::string PairList(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  using Align = TextTable::Align;
  TextTable text(
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  text.AddRow({"a", "b", "n", "value", "low", "high"});
  constexpr size_t kNameMax = 40;
  for (const MatrixPair& pair : matrix.pairs) {
    const bool has_interval = pair.interval.has_value();
    text.AddRow(
        {Printable(matrix.benchmarks[pair.a], kNameMax),
         Printable(matrix.benchmarks[pair.b], kNameMax),
         absl::StrCat(pair.correlation.n, pair.missing.empty() ? "" : "*"),
         pair.correlation.defined() ? Fixed(pair.correlation.value, options.decimals) : "undef",
         has_interval ? Fixed(pair.interval->low, options.decimals) : "—",
         has_interval ? Fixed(pair.interval->high, options.decimals) : "—"});
  }
  return text.ToString();
}

std::string ScreenName(const std::string& name) { return Printable(name, 60); }

// Notes set apart by blank lines; those that continue another are indented.
std::string Notes(const ConcurrenceMatrix& matrix) {
  std::string text;
  for (const std::string& note : MatrixNotes(matrix)) {
    absl::StrAppend(&text, note[0] == ' ' ? "" : "\n", note, "\n");
  }
  return text;
}

// The strongest influences over all pairs.
std::string InfluenceNotes(const ConcurrenceMatrix& matrix, const TextOptions& options) {
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
  using Align = TextTable::Align;
  TextTable text({Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight});
  text.AddRow({"a", "b", "approach", "value", "without it"});
  for (size_t i = 0; i < std::min(all.size(), kLinesMax); ++i) {
    const auto& [pair, influence] = all[i];
    text.AddRow(
        {ScreenName(matrix.benchmarks[pair->a]), ScreenName(matrix.benchmarks[pair->b]),
         ScreenName(matrix.approaches[influence->approach]),
         Fixed(pair->correlation.value, options.decimals),
         influence->without.has_value() ? Fixed(*influence->without, options.decimals) : "undef"});
  }
  return absl::StrCat(
      "\nApproaches that move a pair most:\n\n", text.ToString(),
      all.size() > kLinesMax ? absl::StrCat("and ", all.size() - kLinesMax, " weaker ones\n") : "");
}

std::string SwapNotes(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  if (!matrix.with_swaps) {
    return "";
  }
  constexpr size_t kLinesMax = 20;
  std::string notes;
  for (const MatrixPair& pair : matrix.pairs) {
    absl::StrAppend(&notes, "\n", ScreenName(matrix.benchmarks[pair.a]), " – ",
                    ScreenName(matrix.benchmarks[pair.b]), ": ", pair.swaps.size(), " of ",
                    pair.correlation.n * (pair.correlation.n - 1) / 2,
                    " pairs of approaches swap places\n");
    for (size_t i = 0; i < std::min(pair.swaps.size(), kLinesMax); ++i) {
      const Swap& swap = pair.swaps[i];
      absl::StrAppend(&notes, "  ", ScreenName(matrix.approaches[swap.first]), " ahead by ",
                      Fixed(swap.margin_a, options.decimals), ", then ",
                      ScreenName(matrix.approaches[swap.second]), " by ",
                      Fixed(swap.margin_b, options.decimals), "\n");
    }
    if (pair.swaps.size() > kLinesMax) {
      absl::StrAppend(&notes, "  and ", pair.swaps.size() - kLinesMax, " closer ones\n");
    }
  }
  return notes;
}

void AddStructureJson(const ConcurrenceMatrix& matrix, const MatrixPair& pair, Json& json) {
  if (!pair.influences.empty()) {
    json["influences"] = Json::array();
    for (const Influence& influence : pair.influences) {
      const bool defined = influence.without.has_value();
      json["influences"].push_back({{"approach", matrix.approaches[influence.approach]},
                                    {"without", defined ? Json(*influence.without) : Json()},
                                    {"change", defined ? Json(influence.change) : Json()}});
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

// How far missing scores could move each pair that lacks some.
std::string BoundsNotes(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  if (!matrix.with_bounds) {
    return "";
  }
  using Align = TextTable::Align;
  TextTable text(
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  text.AddRow({"a", "b", "missing", "value", "at least", "at most"});
  size_t rows = 0;
  bool searched = false;
  for (const MatrixPair& pair : matrix.pairs) {
    if (pair.missing.empty()) {
      continue;
    }
    ++rows;
    const bool found = pair.bounds.has_value();
    const char* mark = found && !pair.bounds->exact ? " ~" : "";
    searched = searched || mark[0] != 0;
    text.AddRow(
        {ScreenName(matrix.benchmarks[pair.a]), ScreenName(matrix.benchmarks[pair.b]),
         found ? absl::StrCat(pair.bounds->missing) : absl::StrCat(pair.missing.size()),
         pair.correlation.defined() ? Fixed(pair.correlation.value, options.decimals) : "undef",
         found ? absl::StrCat(Fixed(pair.bounds->low, options.decimals), mark) : "—",
         found ? absl::StrCat(Fixed(pair.bounds->high, options.decimals), mark) : "—"});
  }
  if (rows == 0) {
    return "\nBounds: no score is missing, so that each value is its own bound.\n";
  }
  return absl::StrCat(
      "\nBounds over all values that the missing scores could have:\n\n", text.ToString(),
      searched ? "~ found by search: reached for certain, and might be passed\n" : "");
}

std::string DifferenceNotes(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  std::string text;
  for (const PairDifference& difference : matrix.differences) {
    const DifferenceQuery& of = difference.of;
    absl::StrAppend(
        &text, text.empty() ? "\nDifferences between pairs, from the same replicates:\n" : "",
        "  (", ScreenName(of.a), " – ", ScreenName(of.b), ") less (", ScreenName(of.c), " – ",
        ScreenName(of.d),
        "): ", difference.value.has_value() ? Fixed(*difference.value, options.decimals) : "undef",
        difference.interval.has_value()
            ? absl::StrCat(" [", Fixed(difference.interval->low, options.decimals), ", ",
                           Fixed(difference.interval->high, options.decimals), "]")
            : "",
        difference.warning.empty() ? "" : absl::StrCat("  (", difference.warning, ")"), "\n");
  }
  return text;
}

Json DifferenceJson(const PairDifference& difference) {
  Json json;
  json["a"] = difference.of.a;
  json["b"] = difference.of.b;
  json["less_a"] = difference.of.c;
  json["less_b"] = difference.of.d;
  json["n"] = difference.n_first;
  json["less_n"] = difference.n_second;
  json["difference"] = difference.value.has_value() ? Json(*difference.value) : Json();
  const bool has_interval = difference.interval.has_value();
  json["low"] = has_interval ? Json(difference.interval->low) : Json();
  json["high"] = has_interval ? Json(difference.interval->high) : Json();
  if (!difference.warning.empty()) {
    json["warning"] = difference.warning;
  }
  return json;
}

Json PairJson(const ConcurrenceMatrix& matrix, const MatrixPair& pair) {
  const Correlation& correlation = pair.correlation;
  Json json;
  json["a"] = matrix.benchmarks[pair.a];
  json["b"] = matrix.benchmarks[pair.b];
  json["n"] = correlation.n;
  json["value"] = correlation.defined() ? Json(correlation.value) : Json();
  json["low"] = pair.interval.has_value() ? Json(pair.interval->low) : Json();
  json["high"] = pair.interval.has_value() ? Json(pair.interval->high) : Json();
  json["p_value"] = std::isnan(correlation.p_value) ? Json() : Json(correlation.p_value);
  if (!correlation.defined()) {
    json["undefined"] = std::string(UndefinedReason(correlation.undefined));
  }
  if (!pair.warning.empty()) {
    json["warning"] = pair.warning;
  }
  json["missing"] = Json::array();
  for (const size_t approach : pair.missing) {
    json["missing"].push_back(matrix.approaches[approach]);
  }
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

}  // namespace

std::string MatrixText(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  const TextTable triangle = Triangle(matrix, options);
  const bool as_list = matrix.level > 0 && triangle.Width() > options.width;
  return absl::StrCat(MatrixTitle(matrix), "\n\n",
                      as_list ? PairList(matrix, options) : triangle.ToString(), Notes(matrix),
                      InfluenceNotes(matrix, options), SwapNotes(matrix, options),
                      BoundsNotes(matrix, options), DifferenceNotes(matrix, options));
}

std::string MatrixCsv(const ConcurrenceMatrix& matrix) {
  std::string text =
      absl::StrCat("coefficient,a,b,n,value,low,high,p_value,undefined,missing",
                   matrix.with_bounds ? ",bound_low,bound_high,bound_exact" : "", "\n");
  for (const MatrixPair& pair : matrix.pairs) {
    const Correlation& correlation = pair.correlation;
    std::vector<std::string> missing;
    for (const size_t approach : pair.missing) {
      missing.push_back(matrix.approaches[approach]);
    }
    absl::StrAppend(
        &text, absl::StrJoin({std::string(CoefficientName(matrix.coefficient)),
                              CsvField(matrix.benchmarks[pair.a]),
                              CsvField(matrix.benchmarks[pair.b]), absl::StrCat(correlation.n),
                              correlation.defined() ? ShortestDecimal(correlation.value) : "",
                              pair.interval.has_value() ? ShortestDecimal(pair.interval->low) : "",
                              pair.interval.has_value() ? ShortestDecimal(pair.interval->high) : "",
                              ShortestDecimal(correlation.p_value),
                              std::string(UndefinedReason(correlation.undefined)),
                              CsvField(absl::StrJoin(missing, "; "))},
                             ","));
    if (matrix.with_bounds) {
      const bool found = pair.bounds.has_value();
      absl::StrAppend(&text, ",", found ? ShortestDecimal(pair.bounds->low) : "", ",",
                      found ? ShortestDecimal(pair.bounds->high) : "", ",",
                      !found               ? ""
                      : pair.bounds->exact ? "yes"
                                           : "no");
    }
    text += "\n";
  }
  return text;
}

std::string MatrixJson(const ConcurrenceMatrix& matrix) {
  Json json;
  json["coefficient"] = std::string(CoefficientName(matrix.coefficient));
  if (matrix.level > 0) {
    json["level"] = matrix.level;
    json["interval_method"] = matrix.interval_method;
  }
  json["benchmarks"] = matrix.benchmarks;
  json["approaches"] = matrix.approaches;
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
  json["pairs"] = Json::array();
  for (const MatrixPair& pair : matrix.pairs) {
    json["pairs"].push_back(PairJson(matrix, pair));
  }
  if (!matrix.differences.empty()) {
    json["differences"] = Json::array();
    for (const PairDifference& difference : matrix.differences) {
      json["differences"].push_back(DifferenceJson(difference));
    }
  }
  return Dump(json);
}

std::string MatrixJsonLines(const ConcurrenceMatrix& matrix) {
  std::string text;
  for (const MatrixPair& pair : matrix.pairs) {
    Json json;
    json["coefficient"] = std::string(CoefficientName(matrix.coefficient));
    json.update(PairJson(matrix, pair));
    text += Dump(json);
  }
  for (const PairDifference& difference : matrix.differences) {
    Json json;
    json["coefficient"] = std::string(CoefficientName(matrix.coefficient));
    json.update(DifferenceJson(difference));
    text += Dump(json);
  }
  return text;
}

}  // namespace concur::analysis
