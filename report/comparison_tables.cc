// SPDX-License-Identifier: Apache-2.0
#include "report/comparison_tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/example_runs.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"
#include "base/decimal.h"
#include "base/metric_meaning.h"
#include "base/suggest.h"
#include "report/notes.h"
#include "report/table.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

std::string CauseText(const Flip& flip) {
  switch (flip.cause) {
    case Flip::Cause::kFirst:
      return flip.first;
    case Flip::Cause::kSecond:
      return flip.second;
    case Flip::Cause::kEither:
      return "either";
    case Flip::Cause::kBothTogether:
      return "both together";
  }
  return "";
}

std::string UnmatchedText(const Unmatched& unmatched) {
  switch (unmatched.kind) {
    case Unmatched::Kind::kApproaches:
    case Unmatched::Kind::kBenchmarks:
      return absl::StrCat(
          "Only in the ", unmatched.in_first ? "first" : "second", " table: ",
          unmatched.kind == Unmatched::Kind::kApproaches ? "approaches " : "benchmarks ",
          absl::StrJoin(unmatched.names, ", "));
    case Unmatched::Kind::kGoal:
      return absl::StrCat(
          unmatched.benchmark, ": ", unmatched.in_first ? "less" : "more",
          " is better before, and the other way round after; its order is not compared");
    case Unmatched::Kind::kCell:
      break;
  }
  return absl::StrCat(unmatched.approach, " on ", unmatched.benchmark, ": ",
                      CellText(unmatched.before, unmatched.decimals_before), " before, ",
                      CellText(unmatched.after, unmatched.decimals_after), " after");
}

}  // namespace

Table ComparisonTable(const std::vector<BenchmarkComparison>& comparisons,
                      const ComparisonOptions& options) {
  Table table;
  table.key_columns = 3;
  table.columns = {{"benchmark", "benchmark"},
                   ForPrograms("metric"),
                   {"a", "better"},
                   {"b", "worse"},
                   {"n", "n", true},
                   {"mean_a", "mean of better", true},
                   {"mean_b", "mean of worse", true},
                   {"difference", "difference", true},
                   ForPrograms("low"),
                   ForPrograms("high"),
                   {"p_value", "p", true, 4},
                   {"p_value_holm", "p (Holm)", true, 4},
                   ForPrograms("both"),
                   ForPrograms("only_a"),
                   ForPrograms("only_b"),
                   ForPrograms("neither"),
                   {"mcnemar_p", "McNemar p", true, 4},
                   {"mcnemar_p_holm", "McNemar p (Holm)", true, 4}};
  const bool clustered = std::any_of(comparisons.begin(), comparisons.end(),
                                     [](const BenchmarkComparison& comparison) {
                                       return comparison.unit != ExampleUnit::kExample;
                                     });
  if (clustered) {
    for (const char* key : {"unit", "clusters", "question_low", "question_high"}) {
      table.columns.push_back(ForPrograms(key));
    }
    table.columns.push_back({"question_p", "p by question", true, 4});
  }
  size_t tests = 0;
  std::vector<std::string> reasons;  // for leaving approaches out, in their order
  std::map<std::string, std::vector<std::string>> left_out;  // the benchmarks of each
  std::vector<std::string> minimized;
  for (const BenchmarkComparison& comparison : comparisons) {
    if (comparison.goal == Goal::kMinimize) {
      minimized.push_back(comparison.benchmark);
    }
    if (comparison.unit != ExampleUnit::kExample) {
      table.details.push_back(absl::StrCat(
          comparison.benchmark, ": ", comparison.examples, " questions in ", comparison.clusters,
          " ", ExampleUnitName(comparison.unit),
          "s, which intervals and p draw whole; \"p by question\" takes questions as independent"));
    }
    tests += comparison.pairs.size();
    for (const PairedComparison& pair : comparison.pairs) {
      // As tables of scores show shares, and percentages.
      const int decimals = std::max(std::abs(pair.mean_a), std::abs(pair.mean_b)) <= 1 ? 4 : 2;
      TableCell difference = SignedCell(pair.difference, decimals);
      if (pair.interval.has_value()) {
        absl::StrAppendFormat(&difference.text, " [%+.*f, %+.*f]", decimals, pair.interval->low,
                              decimals, pair.interval->high);
      }
      const auto mean = [decimals](double value) {
        return NumberCell(value, Fixed(value, decimals));
      };
      const auto count = [&](int64_t McNemar::*field) {
        return pair.mcnemar.has_value() ? IntegerCell((*pair.mcnemar).*field) : TableCell();
      };
      table.rows.push_back(
          {TextCell(comparison.benchmark), TextCell(comparison.metric),
           TextCell(comparison.approaches[pair.a]), TextCell(comparison.approaches[pair.b]),
           IntegerCell(static_cast<int64_t>(comparison.examples)), mean(pair.mean_a),
           mean(pair.mean_b), difference, LowCell(pair.interval), HighCell(pair.interval),
           PValueCell(pair.p_value), PValueCell(pair.p_value_holm), count(&McNemar::both),
           count(&McNemar::only_a), count(&McNemar::only_b), count(&McNemar::neither),
           PValueCell(pair.mcnemar.has_value() ? pair.mcnemar->p_value
                                               : std::numeric_limits<double>::quiet_NaN()),
           PValueCell(pair.mcnemar_p_holm)});
      if (clustered) {
        for (TableCell& cell : std::vector<TableCell>{
                 TextCell(std::string(ExampleUnitName(comparison.unit))),
                 IntegerCell(static_cast<int64_t>(comparison.clusters)),
                 LowCell(pair.question_interval), HighCell(pair.question_interval),
                 PValueCell(pair.question_p)}) {
          table.rows.back().push_back(std::move(cell));
        }
      }
    }
    for (const std::string& reason : comparison.left_out) {
      std::vector<std::string>& benchmarks = left_out[reason];
      if (benchmarks.empty()) {
        reasons.push_back(reason);
      }
      benchmarks.push_back(comparison.benchmark);
    }
  }
  for (const std::string& reason : reasons) {
    const std::vector<std::string>& benchmarks = left_out[reason];
    const bool is_all = benchmarks.size() > 1 && benchmarks.size() == comparisons.size();
    table.notes.push_back(absl::StrCat(
        "Left out on ", is_all ? "all benchmarks" : FirstNames(benchmarks), ": ", reason));
  }
  if (!minimized.empty()) {
    table.notes.push_back(LessIsBetter(minimized) + ".");
  }
  table.title = absl::StrCat(
      "Paired comparisons on the test examples; ", ShortestDecimal(options.bootstrap.level * 100),
      " % intervals: Student's t with CR2 errors; p: paired permutation test, ",
      options.bootstrap.replicates, " draws, seed ", options.bootstrap.seed,
      "; Holm's correction over ", tests, " tests");
  return table;
}

Table ContrastTable(const ScoreTable& table, const GroupContrast& contrast,
                    const BootstrapOptions& options) {
  Table result;
  result.title = absl::StrCat(
      CoefficientName(contrast.coefficient), " among ", contrast.first_count, " approaches with ",
      contrast.tag, "=", contrast.first, " less that among ", contrast.second_count, " with ",
      contrast.tag, "=", contrast.second, "; ", ShortestDecimal(options.level * 100),
      " % intervals: percentile bootstrap in both groups, expanded for their size, ",
      options.replicates, " replicates, seed ", options.seed);
  result.columns = {{"a", "a"},
                    {"b", "b"},
                    {"first", contrast.first, true},
                    {"second", contrast.second, true},
                    {"difference", "difference", true},
                    ForPrograms("low"),
                    ForPrograms("high"),
                    {"p_value", "p", true, 4},
                    {"p_value_holm", "p (Holm)", true, 4}};
  bool is_flat = false;
  for (const PairContrast& pair : contrast.pairs) {
    TableCell difference = SignedCell(pair.difference);
    if (pair.interval.has_value()) {
      absl::StrAppend(&difference.text, " ", IntervalText(*pair.interval, 2),
                      DaggerOf(pair.interval));
      is_flat = is_flat || !DaggerOf(pair.interval).empty();
    }
    result.rows.push_back(
        {TextCell(table.benchmarks()[pair.a].name), TextCell(table.benchmarks()[pair.b].name),
         CoefficientCell(pair.first.OptionalValue()), CoefficientCell(pair.second.OptionalValue()),
         std::move(difference), LowCell(pair.interval), HighCell(pair.interval),
         NumberCell(pair.p_value), NumberCell(pair.p_value_holm)});
  }
  if (is_flat) {
    result.notes.emplace_back(
        "† all replicates agree: resampling cannot show the uncertainty, and p says nothing");
  }
  if (const std::string few =
          FewApproachesWarning(std::min(contrast.first_count, contrast.second_count));
      !few.empty()) {
    result.notes.push_back(absl::StrCat("intervals: a group has ", few));
  }
  result.details = ChoiceNotes(table.benchmarks());
  return result;
}

Table StrataTable(const std::vector<StratifiedPrediction>& predictions, double level) {
  Table table;
  table.title = "Scores by stratum, and the old ones in the new mixture";
  table.columns = {{"by", "by"},
                   {"stratum", "stratum"},
                   {"n", "n", true},
                   {"share", "share %", true, 1},
                   {"score", "score", true},
                   {"new_n", "new n", true},
                   {"new_share", "new share %", true, 1},
                   {"new_score", "new score", true},
                   {"predicted", "predicted", true},
                   {"low", "low", true},
                   {"high", "high", true}};
  for (const StratifiedPrediction& prediction : predictions) {
    int64_t n = 0;
    int64_t new_n = 0;
    for (const Stratum& stratum : prediction.strata) {
      n += stratum.n;
      new_n += stratum.new_n;
    }
    const auto share = [](int64_t part, int64_t whole) {
      return NumberCell(100 * static_cast<double>(part) / static_cast<double>(whole));
    };
    for (const Stratum& stratum : prediction.strata) {
      table.rows.push_back({TextCell(prediction.attribute), TextCell(stratum.name),
                            IntegerCell(stratum.n), share(stratum.n, n), NumberCell(stratum.score),
                            IntegerCell(stratum.new_n), share(stratum.new_n, new_n),
                            NumberCell(stratum.new_score), TableCell(), TableCell(), TableCell()});
    }
    table.rows.push_back({TextCell(prediction.attribute), TextCell("(all)"), IntegerCell(n),
                          NumberCell(100), NumberCell(prediction.score), IntegerCell(new_n),
                          NumberCell(100), NumberCell(prediction.actual),
                          NumberCell(prediction.predicted), LowCell(prediction.interval),
                          HighCell(prediction.interval)});
    if (prediction.predicted.has_value()) {
      std::string note =
          absl::StrCat(prediction.attribute, ": the new mixture alone would move the score from ",
                       Fixed(prediction.score, 2), " to ", Fixed(*prediction.predicted, 2));
      if (prediction.actual.has_value()) {
        absl::StrAppend(&note, "; it is ", Fixed(*prediction.actual, 2));
      }
      if (prediction.covered < 1) {
        absl::StrAppend(&note, " (", Fixed(100 * (1 - prediction.covered), 1),
                        " % of the new examples are in strata that the old set lacks)");
      }
      table.notes.push_back(note + ".");
    }
  }
  table.notes.push_back(absl::StrCat("low and high: ", ShortestDecimal(100 * level),
                                     " % interval of the prediction, from the spread within strata "
                                     "of the old set",
                                     predictions.empty()
                                         ? ""
                                         : absl::StrCat(", by ", predictions[0].clusters, " ",
                                                        ExampleUnitName(predictions[0].unit), "s"),
                                     "."));
  return table;
}

Table DifferenceTable(const TableDifference& difference, const std::string& before,
                      const std::string& after) {
  Table table;
  table.title = absl::StrCat(difference.flips.size(), " of ", difference.pairs,
                             " pairs of approaches changed order from ", before, " to ", after,
                             "; ", difference.changed_cells, " of ", difference.common_cells,
                             " common scores changed");
  table.columns = {{"benchmark", "benchmark"},          {"first", "ahead before"},
                   {"first_before", "its score", true}, {"first_after", "then", true},
                   {"second", "ahead after"},           {"second_before", "its score before", true},
                   {"second_after", "after", true},     {"cause", "moved by"}};
  for (const Flip& flip : difference.flips) {
    const auto score = [&flip](double value) {
      return NumberCell(value, Fixed(value, flip.decimals));
    };
    table.rows.push_back({TextCell(flip.benchmark), TextCell(flip.first), score(flip.first_before),
                          score(flip.first_after), TextCell(flip.second), score(flip.second_before),
                          score(flip.second_after), TextCell(CauseText(flip))});
  }
  if (difference.flips.empty()) {
    table.notes.emplace_back("No two approaches changed order on any benchmark.");
  }
  if (difference.ties > 0) {
    table.notes.push_back(absl::StrCat(difference.ties, " more pairs are tied in one of the two."));
  }
  constexpr size_t kNotesMax = 100;
  for (size_t i = 0; i < std::min(difference.only_in_one.size(), kNotesMax); ++i) {
    table.notes.push_back(UnmatchedText(difference.only_in_one[i]));
  }
  if (difference.only_in_one.size() > kNotesMax) {
    table.notes.push_back(absl::StrCat("and ", difference.only_in_one.size() - kNotesMax,
                                       " more scores that only one of the two has"));
  }
  table.details = ChoiceNotes(difference.benchmarks_before, difference.benchmarks_after);
  return table;
}

}  // namespace concur::analysis
