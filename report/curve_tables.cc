// SPDX-License-Identifier: Apache-2.0
#include "report/curve_tables.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/statistics/correlation.h"

namespace concur::analysis {

Table CurveTable(const std::vector<CurvePoint>& points, const std::vector<std::string>& benchmarks,
                 const CurveOptions& options, const std::string& x_key, const std::string& title,
                 const std::vector<std::string>& choices) {
  Table table;
  table.title = title;
  table.key_columns = 3;
  table.columns = {{"a", "a"},
                   {"b", "b"},
                   {x_key, x_key, true, 0},
                   {"value", std::string(CoefficientName(options.coefficient)), true},
                   {"low", "low", true},
                   {"high", "high", true},
                   {"standard_deviation", "sd", true, 3},
                   {"draws", "draws", true},
                   {"undefined", "undefined", true}};
  table.columns[0].width_max = table.columns[1].width_max = kPairNameMax;
  int64_t undefined = 0;
  for (const CurvePoint& point : points) {
    table.rows.push_back(
        {TextCell(benchmarks[point.a]), TextCell(benchmarks[point.b]), NumberCell(point.x),
         NumberCell(point.value), LowCell(point.range), HighCell(point.range),
         point.draws > 1 ? NumberCell(point.standard_deviation) : TableCell(),
         point.draws > 0 ? IntegerCell(point.draws) : TableCell(), IntegerCell(point.undefined)});
    undefined += point.undefined;
  }
  if (undefined > 0) {
    table.notes.push_back(
        absl::StrCat("Draws in which the coefficient is undefined are counted and left out of the "
                     "means: ",
                     undefined, "."));
  }
  table.details = choices;
  return table;
}

Table ExpectedBestTable(const std::vector<ExpectedBest>& curve, const SettingScores& scores) {
  Table table;
  table.title = "Expected best of k settings";
  table.columns = {{"approach", "approach"},
                   {"benchmark", "benchmark"},
                   {"k", "k", true},
                   {"expected_best", "expected best", true},
                   {"settings", "settings", true}};
  table.notes = {kBestOnTestNote};
  for (const ExpectedBest& point : curve) {
    table.rows.push_back({TextCell(scores.approaches[point.approach]),
                          TextCell(scores.benchmarks[point.benchmark]), IntegerCell(point.k),
                          NumberCell(point.value), IntegerCell(point.settings)});
  }
  return table;
}

}  // namespace concur::analysis
