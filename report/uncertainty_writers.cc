// SPDX-License-Identifier: Apache-2.0
// Uncertainty in words and as a table: the second half of uncertainty.h.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/csv.h"
#include "analysis/notes.h"
#include "analysis/table.h"
#include "analysis/text.h"
#include "analysis/uncertainty.h"
#include "base/decimal.h"

namespace concur::analysis {
namespace {

// Below this share of the variance, more of a source hardly narrows the interval.
constexpr double kWorthwhile = 0.1;

std::string Deviation(double variance) { return Fixed(std::sqrt(std::max(0.0, variance)), 3); }

// What was drawn, and how much of the spread of scores is no noise.
void AddBenchmarkNotes(const Uncertainty& uncertainty, Table& table) {
  std::vector<std::string> reliabilities;
  for (size_t b = 0; b < uncertainty.benchmarks.size(); ++b) {
    const ExampleClusters& clusters = uncertainty.clusters[b];
    if (!clusters.of.empty()) {
      table.notes.push_back(absl::StrCat(uncertainty.benchmarks[b], ": ", clusters.of.size(),
                                         " questions are drawn in ", clusters.count, " ",
                                         ExampleUnitName(clusters.unit), "s."));
    }
    if (uncertainty.reliabilities[b].has_value()) {
      reliabilities.push_back(
          absl::StrCat(uncertainty.benchmarks[b], " ", Fixed(*uncertainty.reliabilities[b], 2)));
    }
  }
  if (!reliabilities.empty()) {
    table.notes.push_back(
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
    table.notes.push_back(absl::StrCat("Questions drawn alone would cause ",
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
  absl::StrAppend(&text, can.empty() ? "nothing alone narrows it much" : absl::StrJoin(can, ", "),
                  can.empty() ? "" : " can narrow it");
  if (!cannot.empty()) {
    absl::StrAppend(&text, "; ", absl::StrJoin(cannot, " and "), " hardly");
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
      CoefficientName(uncertainty.options.coefficient), " over ", uncertainty.approaches.size(),
      " approaches, ", uncertainty.benchmarks.size(), " benchmarks; ",
      ShortestDecimal(bootstrap.level * 100),
      " % intervals: hierarchical bootstrap over approaches, seeds and test examples, ",
      bootstrap.replicates, " replicates, seed ", bootstrap.seed);
  table.key_columns = 2;
  table.columns = {{"a", "a"},
                   {"b", "b"},
                   {"n", "n", true},
                   {"value", "value", true},
                   ForPeople("interval", true),
                   ForPrograms("low"),
                   ForPrograms("high"),
                   {"noise_free", "noise-free", true},
                   ForPeople("its interval", true),
                   ForPrograms("noise_free_low"),
                   ForPrograms("noise_free_high"),
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
         NumberCell(pair.value),
         WithFootnote(TextCell(pair.interval.has_value() ? IntervalText(*pair.interval, 2) : "—"),
                      DaggerOf(pair.interval)),
         LowCell(pair.interval),
         HighCell(pair.interval),
         NumberCell(pair.noise_free),
         WithFootnote(TextCell(pair.noise_free_interval.has_value()
                                   ? IntervalText(*pair.noise_free_interval, 2)
                                   : "—"),
                      DaggerOf(pair.noise_free_interval)),
         LowCell(pair.noise_free_interval),
         HighCell(pair.noise_free_interval),
         deviation(pair.total),
         share(pair.approaches),
         pair.examples.has_value() ? share(*pair.examples) : TableCell(),
         pair.examples_alone.has_value() ? share(*pair.examples_alone) : TableCell(),
         pair.seeds.has_value() ? share(*pair.seeds) : TableCell(),
         deviation(pair.total - pair.examples.value_or(0) - pair.seeds.value_or(0)),
         defined ? NumberCell(pair.shift_by_noise) : TableCell(),
         TextCell(words),
         TextCell(pair.warning)});
    table.notes.push_back(absl::StrCat(uncertainty.benchmarks[pair.a], " – ",
                                       uncertainty.benchmarks[pair.b], ": ", words, "."));
    // The warning of an interval without width says so itself, and has the mark.
    if (DaggerOf(pair.interval).empty() && !DaggerOf(pair.noise_free_interval).empty()) {
      warnings.insert("† all replicates agree: resampling cannot show the uncertainty.");
    }
    if (!pair.warning.empty()) {
      const std::string dagger = DaggerOf(pair.interval);
      warnings.insert(
          absl::StrCat(dagger, dagger.empty() ? "" : " ", "intervals: ", pair.warning, "."));
    }
  }
  AddBenchmarkNotes(uncertainty, table);
  constexpr size_t kSentencesMax = 40;
  if (table.notes.size() > kSentencesMax) {
    const size_t more = table.notes.size() - kSentencesMax;
    table.notes.resize(kSentencesMax);
    table.notes.push_back(
        absl::StrCat("and ", more, " pairs more; -o json or csv has every sentence."));
  }
  for (const std::string& warning : warnings) {
    table.notes.push_back(warning);
  }
  table.notes.emplace_back(
      "Approaches are drawn as unrelated: relatives among them make intervals too short, and "
      "concur matrix --families TAG draws families.");
  if (!uncertainty.minimized.empty()) {
    table.notes.push_back(CountedOtherWay(uncertainty.minimized) + ".");
  }
  if (!uncertainty.left_out.empty()) {
    table.notes.push_back(absl::StrCat(
        "Without per-example scores: ", absl::StrJoin(uncertainty.left_out, "; "), "."));
  }
  return table;
}

}  // namespace concur::analysis
