// SPDX-License-Identifier: Apache-2.0
// Fits in every form.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "analysis/comparison/fit.h"
#include "analysis/references.h"
#include "analysis/statistics/intervals.h"
#include "base/decimal.h"
#include "report/json_text.h"
#include "report/notes.h"
#include "report/table.h"
#include "report/text.h"
#include "report/writers.h"

namespace concur::analysis {
namespace {

// Positions of columns of ShiftTable.
constexpr size_t kToColumn = 1;
constexpr size_t kSystemColumn = 9;
constexpr size_t kFittedColumn = 16;

// [low, high], or null.
Json EndsJson(const std::optional<Interval>& interval) {
  return interval.has_value() ? Json::array({interval->low, interval->high}) : Json();
}

Json FitJson(const ShiftFit& fit) {
  Json json;
  json["from"] = fit.from;
  json["to"] = fit.to;
  json["scale"] = std::string(FitScaleName(fit.scale));
  json["n"] = fit.n;
  json["slope"] = NumberOrNull(fit.slope);
  json["intercept"] = NumberOrNull(fit.intercept);
  json["r_squared"] = NumberOrNull(fit.r_squared);
  json["mean_gap"] = NumberOrNull(fit.mean_gap);
  if (std::vector<std::string> choices = ChoiceNotes(fit.benchmarks); !choices.empty()) {
    json["choices"] = std::move(choices);
  }
  if (fit.level > 0 || fit.score_level > 0) {
    json["level"] = std::max(fit.level, fit.score_level);
    json["slope_interval"] = EndsJson(fit.slope_interval);
    json["intercept_interval"] = EndsJson(fit.intercept_interval);
    json["r_squared_interval"] = EndsJson(fit.r_squared_interval);
    json["mean_gap_interval"] = EndsJson(fit.mean_gap_interval);
  }
  if (fit.slope_interval.has_value()) {
    json["interval_method"] = fit.families.empty() ? "hc3" : "cr3";
  }
  if (!fit.families.empty()) {
    json["families"] = fit.families;
  }
  if (fit.corrected.has_value()) {
    json["noise_corrected"] = {{"reliability", fit.corrected->reliability},
                               {"slope", fit.corrected->slope},
                               {"intercept", fit.corrected->intercept},
                               {"slope_interval", EndsJson(fit.corrected->slope_interval)}};
  }
  json["systems"] = Json::array();
  for (const FittedSystem& system : fit.systems) {
    const bool is_ranked = !system.is_reference;
    json["systems"].push_back(
        {{"name", system.name},
         {"from", system.from},
         {"to", system.to},
         {"gap", system.gap},
         {"rank", is_ranked ? Json(system.rank) : Json()},
         {"new_rank", is_ranked ? Json(system.new_rank) : Json()},
         {"delta_rank", is_ranked ? Json(system.rank - system.new_rank) : Json()},
         {"fitted", system.fitted},
         {"predicted", NumberOrNull(system.predicted)},
         {"residual", NumberOrNull(system.residual)}});
    if (system.is_reference) {
      json["systems"].back()["reference"] = true;
    }
    const auto add = [&](const char* name, const std::optional<Interval>& interval) {
      if (interval.has_value()) {
        json["systems"].back()[name] = EndsJson(interval);
      }
    };
    add("predicted_interval", system.predicted_interval);
    add("residual_interval", system.residual_interval);
    add("from_interval", system.from_interval);
    add("to_interval", system.to_interval);
    if (fit.clustered) {
      add("from_interval_by_question", system.from_interval_by_question);
      add("to_interval_by_question", system.to_interval_by_question);
    }
  }
  json["missing"] = fit.missing;
  return json;
}

// " [1.20, 3.40]"; "" without an interval.
std::string Bracketed(const std::optional<Interval>& interval, int decimals) {
  return interval.has_value() ? " " + IntervalText(*interval, decimals) : "";
}

std::string Figure(const std::optional<double>& value, const std::optional<Interval>& interval,
                   int decimals) {
  return FixedOrUndef(value, decimals) + Bracketed(interval, decimals);
}

// Text of the line as it would be without noise in the original scores; "" where that is not known.
std::string CorrectionText(const ShiftFit& fit) {
  return fit.corrected.has_value()
             ? absl::StrCat("; without the noise of the scores on ", fit.from, ": slope ",
                            Figure(fit.corrected->slope, fit.corrected->slope_interval, 3),
                            " (reliability ", Fixed(fit.corrected->reliability, 3), ")")
             : "";
}

std::string FitTitle(const ShiftFit& fit) {
  return absl::StrCat(
      fit.from, " → ", fit.to, ", ", FitScaleName(fit.scale), " scale, ", fit.n, " systems: slope ",
      Figure(fit.slope, fit.slope_interval, 3), ", intercept ",
      Figure(fit.intercept, fit.intercept_interval, 3), ", R² ",
      Figure(fit.r_squared, fit.r_squared_interval, 3), ", mean gap ",
      Figure(fit.mean_gap, fit.mean_gap_interval, 2),
      fit.level > 0 ? absl::StrCat(" (", ShortestDecimal(fit.level * 100), " % intervals, ",
                                   fit.families.empty() ? "HC3"
                                                        : absl::StrCat("CR3 over families by ",
                                                                       ScreenName(fit.families)),
                                   " and Student's t)")
                    : "",
      CorrectionText(fit),
      fit.score_level > 0 ? absl::StrCat("; scores with ", ShortestDecimal(fit.score_level * 100),
                                         " % intervals from their examples")
                          : "");
}

// First cells of every row of a fit.
TableRow FitCells(const ShiftFit& fit) {
  return {TextCell(fit.from),
          TextCell(fit.to),
          TextCell(std::string(FitScaleName(fit.scale))),
          IntegerCell(fit.n),
          NumberCell(fit.slope),
          NumberCell(fit.intercept),
          NumberCell(fit.r_squared),
          NumberCell(fit.mean_gap)};
}

// Cells of a row about its system. The first rank is for people, the second for programs.
TableRow SystemCells(const FittedSystem& system) {
  const auto score = [](double value, const std::optional<Interval>& interval) {
    return NumberCell(value, Fixed(value, 2) + Bracketed(interval, 2));
  };
  const int64_t rise = system.rank - system.new_rank;
  const auto rank = [&system](const TableCell& cell) {
    return system.is_reference ? TableCell() : cell;
  };
  TableCell residual = SignedCell(system.residual);
  if (system.residual.has_value()) {
    residual.text += Bracketed(system.residual_interval, 2);
  }
  return {rank(IntegerCell(system.rank)),
          WithFootnote(TextCell(system.name), system.is_reference ? kReferenceSign
                                              : system.fitted     ? ""
                                                                  : " †"),
          score(system.from, system.from_interval),
          score(system.to, system.to_interval),
          NumberCell(system.gap),
          rank(IntegerCell(system.rank)),
          rank(IntegerCell(system.new_rank)),
          rank(IntegerCell(rise, rise == 0 ? "0" : absl::StrFormat("%+d", rise))),
          YesNoCell(system.fitted),
          NumberCell(system.predicted),
          residual,
          LowCell(system.predicted_interval),
          HighCell(system.predicted_interval),
          LowCell(system.residual_interval),
          HighCell(system.residual_interval),
          LowCell(system.from_interval),
          HighCell(system.from_interval),
          LowCell(system.to_interval),
          HighCell(system.to_interval)};
}

std::vector<TableColumn> ShiftColumns() {
  std::vector<TableColumn> columns = {ForPrograms("from"),
                                      {"to", "new test set"},
                                      ForPrograms("scale"),
                                      ForPrograms("n"),
                                      ForPrograms("slope"),
                                      ForPrograms("intercept"),
                                      ForPrograms("r_squared"),
                                      ForPrograms("mean_gap"),
                                      ForPeople("rank", true),
                                      {"system", "system"},
                                      {"from_score", "from", true},
                                      {"to_score", "to", true},
                                      {"gap", "gap", true},
                                      ForPrograms("rank"),
                                      {"new_rank", "new rank", true},
                                      {"delta_rank", "Δ rank", true},
                                      ForPrograms("fitted"),
                                      ForPrograms("predicted"),
                                      {"residual", "beyond line", true}};
  columns[kSystemColumn].width_max = 48;
  for (const char* what : {"predicted", "residual", "from", "to"}) {
    columns.push_back(ForPrograms(absl::StrCat(what, "_low")));
    columns.push_back(ForPrograms(absl::StrCat(what, "_high")));
  }
  return columns;
}

// A row for each system; what each fit says, and which approaches lack a score, as notes.
Table ShiftTable(absl::Span<const ShiftFit> fits) {
  Table table;
  table.columns = ShiftColumns();
  std::vector<std::string> missing;
  bool all_fitted = true;
  bool any_reference = false;
  for (const ShiftFit& fit : fits) {
    for (const FittedSystem& system : fit.systems) {
      TableRow row = FitCells(fit);
      const TableRow cells = SystemCells(system);
      row.insert(row.end(), cells.begin(), cells.end());
      table.rows.push_back(std::move(row));
      all_fitted = all_fitted && (system.fitted || system.is_reference);
      any_reference = any_reference || system.is_reference;
    }
    table.notes.push_back(FitTitle(fit));
    std::vector<std::string> names;
    for (const std::string& name : fit.missing) {
      names.push_back(ScreenName(name));
    }
    if (!names.empty()) {
      missing.push_back(
          absl::StrCat(fits.size() > 1 ? absl::StrCat(fit.to, ": without") : "Without",
                       " both scores: ", names.size(), ": ", FirstNames(names, "; ")));
    }
  }
  if (!all_fitted) {
    table.notes.emplace_back("† not part of the fit.");
  }
  if (any_reference) {
    table.notes.emplace_back(kReferenceNote);
  }
  table.notes.insert(table.notes.end(), missing.begin(), missing.end());
  for (const ShiftFit& fit : fits) {
    for (const std::string& choice : ChoiceNotes(fit.benchmarks)) {
      table.details.push_back(choice);
    }
  }
  return table;
}

// A table for each fit, below what the fit says.
std::string ShiftText(const std::vector<ShiftFit>& fits, const TextOptions& options) {
  std::string text;
  for (const ShiftFit& fit : fits) {
    Table table = ShiftTable({&fit, 1});
    table.columns[kToColumn].audience = TableColumn::Audience::kPrograms;
    table.title = table.notes.front();
    table.notes.erase(table.notes.begin());
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    WriteTable(table, TableFormat::kText, options));
  }
  return text;
}

// A line for each system, then one for each approach that lacks a score; by fit.
std::string ShiftCsv(const std::vector<ShiftFit>& fits) {
  Table table;
  table.columns = ShiftColumns();
  for (const ShiftFit& fit : fits) {
    Table part = ShiftTable({&fit, 1});
    for (const std::string& name : fit.missing) {
      TableRow row = FitCells(fit);
      row.resize(table.columns.size());
      row[kSystemColumn] = TextCell(name);
      row[kFittedColumn] = YesNoCell(false);
      part.rows.push_back(std::move(row));
    }
    table.rows.insert(table.rows.end(), part.rows.begin(), part.rows.end());
  }
  return WriteTable(table, TableFormat::kCsv);
}

std::string ShiftJson(const std::vector<ShiftFit>& fits) {
  Json json;
  json["fits"] = Json::array();
  for (const ShiftFit& fit : fits) {
    json["fits"].push_back(FitJson(fit));
  }
  return JsonLine(json);
}

std::string ShiftJsonLines(const std::vector<ShiftFit>& fits) {
  std::string text;
  for (const ShiftFit& fit : fits) {
    text += JsonLine(FitJson(fit));
  }
  return text;
}

}  // namespace

std::string WriteShift(const std::vector<ShiftFit>& fits, TableFormat format,
                       const TextOptions& options) {
  switch (format) {
    case TableFormat::kText:
      return ShiftText(fits, options);
    case TableFormat::kCsv:
      return ShiftCsv(fits);
    case TableFormat::kJson:
    case TableFormat::kJsonList:
      return ShiftJson(fits);
    case TableFormat::kJsonLines:
      return ShiftJsonLines(fits);
    case TableFormat::kMarkdown:
    case TableFormat::kLatex:
      break;
  }
  return WriteTable(ShiftTable(fits), format, options);
}

}  // namespace concur::analysis
