// SPDX-License-Identifier: Apache-2.0
// Uncertainty in words and as a table: one part of writers.h.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/concurrence/uncertainty.h"
#include "analysis/statistics/intervals.h"
#include "base/decimal.h"
#include "base/suggest.h"
#include "report/notes.h"
#include "report/table.h"
#include "report/text.h"
#include "report/writers.h"

namespace concur::analysis {
namespace {

// Below this share of the variance, more of a source hardly narrows the interval.
constexpr double kWorthwhile = 0.1;

std::string Deviation(double variance) { return Fixed(std::sqrt(std::max(0.0, variance)), 3); }

// Adds what was drawn, and how much of the spread of scores is no noise.
void AddBenchmarkNotes(const Uncertainty& uncertainty, Table& table) {
  std::vector<std::string> reliabilities;
  for (size_t b = 0; b < uncertainty.benchmarks.size(); ++b) {
    const ExampleClusters& clusters = uncertainty.clusters[b];
    if (!clusters.of.empty()) {
      table.details.push_back(absl::StrCat(uncertainty.benchmarks[b], ": ", clusters.of.size(),
                                           " questions are drawn in ", clusters.count, " ",
                                           ExampleUnitName(clusters.unit), "s."));
    }
    if (uncertainty.reliabilities[b].has_value()) {
      reliabilities.push_back(
          absl::StrCat(uncertainty.benchmarks[b], " ", Fixed(*uncertainty.reliabilities[b], 2)));
    }
  }
  if (!reliabilities.empty()) {
    table.details.push_back(
        absl::StrCat("Reliability (share of the variance of scores that is not "
                     "noise of seeds and examples): ",
                     absl::StrJoin(reliabilities, ", "), "."));
  }
  double drawn = 0;
  double alone = 0;
  for (const PairUncertainty& pair : uncertainty.pairs) {
    if (pair.examples_alone.has_value()) {
      drawn += pair.examples.value_or(0);
      alone += *pair.examples_alone;
    }
  }
  if (alone > 0) {
    table.details.push_back(absl::StrCat("Drawing single questions gives ",
                                         Fixed(100 * alone / drawn, 0),
                                         " % of the variance that examples have here."));
  }
}

}  // namespace

std::string UncertaintyInWords(const PairUncertainty& pair) {
  if (!pair.value.has_value()) {
    return "undefined";
  }
  if (pair.total <= 0) {
    return "every replicate agrees: too few approaches to show any uncertainty";
  }
  const double seeds = pair.seeds.value_or(0);
  std::vector<std::string> can;
  std::vector<std::string> cannot;
  const auto judge = [&](const char* name, double part) {
    (part >= kWorthwhile * pair.total ? can : cannot)
        .push_back(absl::StrCat(name, " (to ", Deviation(pair.total - part), " at best)"));
  };
  if (pair.examples.has_value()) {
    judge("more test examples", *pair.examples);
  }
  if (pair.seeds.has_value()) {
    judge("more seeds", seeds);
  }
  std::string text = absl::StrCat("± ", Deviation(pair.total), " (sd); ");
  if (pair.approaches >= kWorthwhile * pair.total) {
    // Four times as many approaches halve their part of the sd, and the noise that comes with it.
    can.insert(can.begin(), absl::StrCat("more approaches (four times as many: about ",
                                         Deviation(pair.total / 4), ")"));
  }
  absl::StrAppend(&text,
                  can.empty() ? "no one of these alone narrows it much" : absl::StrJoin(can, ", "),
                  can.empty() ? "" : " can narrow it");
  if (!cannot.empty()) {
    absl::StrAppend(&text, "; ", absl::StrJoin(cannot, " and "), " hardly can");
  }
  absl::StrAppend(&text, "; with these ", pair.n, " approaches ",
                  Deviation(pair.total - pair.examples.value_or(0) - seeds), " remains");
  if (!pair.examples.has_value()) {
    absl::StrAppend(&text, "; what test examples cause is unknown: no per-example scores");
  }
  if (!pair.seeds.has_value()) {
    absl::StrAppend(&text, "; what seeds cause is unknown: each cell has one run");
  }
  return text;
}

Table UncertaintyTable(const Uncertainty& uncertainty) {
  Table table;
  const BootstrapOptions& bootstrap = uncertainty.options.bootstrap;
  table.title = absl::StrCat(
      CoefficientName(uncertainty.options.coefficient), " over ",
      Counted(uncertainty.approaches.size(), "approach", "es"), ", ",
      Counted(uncertainty.benchmarks.size(), "benchmark"), "; ",
      ShortestDecimal(bootstrap.level * 100),
      " % intervals: hierarchical bootstrap over approaches, seeds and test examples, ",
      bootstrap.replicates, " replicates, seed ", bootstrap.seed);
  table.key_columns = 2;
  table.columns = {{"a", "a"},
                   {"b", "b"},
                   {"n", "n", true},
                   {"noise_free", "noise-free", true},
                   ForPeople("its interval", true),
                   ForPrograms("noise_free_low"),
                   ForPrograms("noise_free_high"),
                   {"value", "observed", true},
                   ForPeople("interval", true),
                   ForPrograms("low"),
                   ForPrograms("high"),
                   {"standard_deviation", "sd", true, 3},
                   {"approaches_share", "approaches %", true, 0},
                   {"examples_share", "examples %", true, 0},
                   ForPrograms("examples_alone_share"),
                   {"seeds_share", "seeds %", true, 0},
                   {"floor", "floor", true, 3},
                   {"shift_by_noise", "shift by noise", true, 3},
                   ForPrograms("in_words"),
                   ForPrograms("warning")};
  table.columns[0].width_max = table.columns[1].width_max = kPairNameMax;
  std::set<std::string> notes;
  std::set<std::string> warnings;
  for (const PairUncertainty& pair : uncertainty.pairs) {
    const bool defined = pair.value.has_value();
    const auto share = [&](double part) {
      return defined && pair.total > 0 ? NumberCell(100 * part / pair.total) : TableCell();
    };
    const auto deviation = [&](double variance) {
      return defined ? NumberCell(std::sqrt(std::max(0.0, variance))) : TableCell();
    };
    const std::string words = UncertaintyInWords(pair);
    table.rows.push_back(
        {TextCell(uncertainty.benchmarks[pair.a]),
         TextCell(uncertainty.benchmarks[pair.b]),
         IntegerCell(pair.n),
         NumberCell(pair.noise_free),
         WithFootnote(TextCell(pair.noise_free_interval.has_value()
                                   ? IntervalText(*pair.noise_free_interval, 2)
                                   : "—"),
                      DaggerOf(pair.noise_free_interval)),
         LowCell(pair.noise_free_interval),
         HighCell(pair.noise_free_interval),
         NumberCell(pair.value),
         WithFootnote(TextCell(pair.interval.has_value() ? IntervalText(*pair.interval, 2) : "—"),
                      DaggerOf(pair.interval)),
         LowCell(pair.interval),
         HighCell(pair.interval),
         deviation(pair.total),
         share(pair.approaches),
         pair.examples.has_value() ? share(*pair.examples) : TableCell(),
         pair.examples_alone.has_value() ? share(*pair.examples_alone) : TableCell(),
         pair.seeds.has_value() ? share(*pair.seeds) : TableCell(),
         deviation(pair.total - pair.examples.value_or(0) - pair.seeds.value_or(0)),
         defined ? NumberCell(pair.shift_by_noise) : TableCell(),
         TextCell(words),
         TextCell(pair.warning)});
    table.details.push_back(absl::StrCat(uncertainty.benchmarks[pair.a], " – ",
                                         uncertainty.benchmarks[pair.b], ": ", words, "."));
    if (!DaggerOf(pair.interval).empty() || !DaggerOf(pair.noise_free_interval).empty()) {
      notes.insert(kAllReplicatesAgree);
    }
    if (pair.n < kIntervalApproachesMin) {
      notes.insert(FewApproachesNote());
    }
    if (!pair.warning.empty()) {
      warnings.insert(absl::StrCat("Intervals: ", pair.warning, "."));
    }
  }
  AddBenchmarkNotes(uncertainty, table);
  table.notes =
      FlagSentences(uncertainty.flags, uncertainty.benchmarks, uncertainty.approaches.size());
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  table.details.insert(table.details.end(), warnings.begin(), warnings.end());
  table.details.emplace_back(
      "Approaches are drawn as unrelated: with related ones intervals are too short; "
      "concur matrix --families TAG draws families.");
  if (!uncertainty.minimized.empty()) {
    table.notes.push_back(LessIsBetter(uncertainty.minimized) + ".");
  }
  if (!uncertainty.left_out.empty()) {
    table.notes.push_back(
        absl::StrCat("Without per-example scores: ", FirstNames(uncertainty.left_out, "; "), "."));
  }
  return table;
}

}  // namespace concur::analysis
