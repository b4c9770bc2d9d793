// Uncertainty in words and as a table: the second half of uncertainty.h.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/csv.h"
#include "analysis/notes.h"
#include "analysis/table.h"
#include "analysis/uncertainty.h"

namespace concur::analysis {
namespace {

// A source that causes less than this share of the variance is not worth adding to.
constexpr double kWorthwhile = 0.1;

std::string Deviation(double variance) { return Fixed(std::sqrt(std::max(0.0, variance)), 3); }

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
  judge("more test examples", pair.examples);
  if (pair.seeds.has_value()) {
    judge("more seeds", seeds);
  }
  std::string text = absl::StrCat("± ", Deviation(pair.total), " (sd); ");
  if (pair.approaches >= kWorthwhile * pair.total) {
    // Four times as many halve what they cause, and the noise that comes with them.
    can.insert(can.begin(), absl::StrCat("more approaches (four times as many: about ",
                                         Deviation(pair.total / 4), ")"));
  }
  absl::StrAppend(&text, can.empty() ? "nothing alone narrows it much" : absl::StrJoin(can, ", "),
                  can.empty() ? "" : " can narrow it");
  if (!cannot.empty()) {
    absl::StrAppend(&text, "; ", absl::StrJoin(cannot, " and "), " hardly");
  }
  absl::StrAppend(&text, "; with these ", pair.n, " approaches ",
                  Deviation(pair.total - pair.examples - seeds), " remains");
  if (!pair.seeds.has_value()) {
    absl::StrAppend(&text, "; what seeds cause is unknown: each cell has one run");
  }
  return text;
}

Table UncertaintyTable(const Uncertainty& uncertainty) {
  using Audience = TableColumn::Audience;
  Table table;
  const BootstrapOptions& bootstrap = uncertainty.options.bootstrap;
  table.title = absl::StrCat(
      CoefficientName(uncertainty.options.coefficient), " over ", uncertainty.approaches.size(),
      " approaches, ", uncertainty.benchmarks.size(), " benchmarks; ",
      ShortestDecimal(bootstrap.level * 100),
      " % intervals: hierarchical bootstrap over approaches, seeds and test examples, ",
      bootstrap.replicates, " replicates, seed ", bootstrap.seed);
  table.columns = {{"a", "a", false, 2, Audience::kAll},
                   {"b", "b", false, 2, Audience::kAll},
                   {"n", "n", true, 2, Audience::kAll},
                   {"value", "value", true, 2, Audience::kAll},
                   {"interval", "interval", true, 2, Audience::kPeople},
                   {"low", "low", true, 2, Audience::kPrograms},
                   {"high", "high", true, 2, Audience::kPrograms},
                   {"standard_deviation", "sd", true, 3, Audience::kAll},
                   {"approaches_share", "approaches %", true, 0, Audience::kAll},
                   {"examples_share", "examples %", true, 0, Audience::kAll},
                   {"seeds_share", "seeds %", true, 0, Audience::kAll},
                   {"floor", "floor", true, 3, Audience::kAll},
                   {"shift_by_noise", "shift by noise", true, 3, Audience::kAll},
                   {"in_words", "in words", false, 2, Audience::kPrograms},
                   {"warning", "warning", false, 2, Audience::kPrograms}};
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
    const bool has_interval = pair.interval.has_value();
    table.rows.push_back(
        {TextCell(uncertainty.benchmarks[pair.a]), TextCell(uncertainty.benchmarks[pair.b]),
         IntegerCell(pair.n), NumberCell(pair.value),
         TextCell(has_interval ? absl::StrCat("[", Fixed(pair.interval->low, 2), ", ",
                                              Fixed(pair.interval->high, 2), "]")
                               : "—"),
         has_interval ? NumberCell(pair.interval->low) : TableCell(),
         has_interval ? NumberCell(pair.interval->high) : TableCell(), deviation(pair.total),
         share(pair.approaches), share(pair.examples),
         pair.seeds.has_value() ? share(*pair.seeds) : TableCell(),
         deviation(pair.total - pair.examples - pair.seeds.value_or(0)),
         defined ? NumberCell(pair.shift_by_noise) : TableCell(), TextCell(words),
         TextCell(pair.warning)});
    table.notes.push_back(absl::StrCat(uncertainty.benchmarks[pair.a], " – ",
                                       uncertainty.benchmarks[pair.b], ": ", words, "."));
    if (!pair.warning.empty()) {
      warnings.insert(pair.warning);
    }
  }
  constexpr size_t kSentencesMax = 40;
  if (table.notes.size() > kSentencesMax) {
    const size_t more = table.notes.size() - kSentencesMax;
    table.notes.resize(kSentencesMax);
    table.notes.push_back(
        absl::StrCat("and ", more, " pairs more; -o json or csv has every sentence."));
  }
  for (const std::string& warning : warnings) {
    table.notes.push_back(absl::StrCat("intervals: ", warning, "."));
  }
  if (!uncertainty.left_out.empty()) {
    table.notes.push_back(absl::StrCat(
        "Without per-example scores: ", absl::StrJoin(uncertainty.left_out, "; "), "."));
  }
  return table;
}

}  // namespace concur::analysis
