// SPDX-License-Identifier: Apache-2.0
#include "report/html/report_summary.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/statistics/coefficient.h"
#include "analysis/statistics/multiplicity.h"
#include "base/suggest.h"
#include "report/notes.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

constexpr double kResolvedBelow = 0.05;  // p-values after Holm's correction

// " (a, b, c and 17 more)"; "" for none.
std::string Listed(const std::vector<AxisEntry>& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const AxisEntry& entry : entries) {
    names.push_back(ScreenName(entry.name));
  }
  return names.empty() ? "" : absl::StrCat(" (", FirstNames(names), ")");
}

// `pair` with the interval of one that was chosen for being the most or the least concurrent.
MatrixPair AsExtreme(const ConcurrenceMatrix& matrix, const MatrixPair& pair, size_t defined) {
  MatrixPair extreme = pair;
  if (pair.interval.has_value()) {
    extreme.interval =
        IntervalOfExtreme(*pair.interval, pair.correlation.value, matrix.level, defined);
  }
  return extreme;
}

std::string PairSentence(const ConcurrenceMatrix& matrix, const char* which,
                         const MatrixPair& pair) {
  const auto same = static_cast<size_t>(
      std::count_if(matrix.pairs.begin(), matrix.pairs.end(), [&](const MatrixPair& other) {
        return other.correlation.defined() && other.correlation.value == pair.correlation.value;
      }));
  return absl::StrCat(
      which, ": ", ScreenName(matrix.benchmarks[pair.a]), " and ",
      ScreenName(matrix.benchmarks[pair.b]), ", n = ", pair.correlation.n, ", ", PairText(pair),
      same > 1 ? absl::StrCat(" (and ", Counted(same - 1, "pair"), " more)") : "", ".");
}

Finding ConcurrenceFinding(const ConcurrenceMatrix& matrix) {
  const MatrixPair* most = nullptr;
  const MatrixPair* least = nullptr;
  size_t defined = 0;
  // Two approaches always agree by 1 or -1: pairs of so few are no extremes beside larger ones.
  const bool any_large =
      std::any_of(matrix.pairs.begin(), matrix.pairs.end(), [](const MatrixPair& pair) {
        return pair.correlation.defined() && pair.correlation.n >= kIntervalApproachesMin;
      });
  for (const MatrixPair& pair : matrix.pairs) {
    if (!pair.correlation.defined() || (any_large && pair.correlation.n < kIntervalApproachesMin)) {
      continue;
    }
    ++defined;
    most = most == nullptr || pair.correlation.value > most->correlation.value ? &pair : most;
    least = least == nullptr || pair.correlation.value < least->correlation.value ? &pair : least;
  }
  Finding finding{"Concurrence", ""};
  if (most == nullptr) {
    std::set<std::string> reasons;
    for (const MatrixPair& pair : matrix.pairs) {
      reasons.insert(std::string(UndefinedReason(pair.correlation.undefined)));
    }
    finding.text = absl::StrCat(
        "No pair of benchmarks has a coefficient: ", absl::StrJoin(reasons, "; "), ".");
    return finding;
  }
  if (most->correlation.value == least->correlation.value) {
    finding.text =
        PairSentence(matrix, matrix.pairs.size() == 1 ? "The one pair" : "All alike", *most);
  } else {
    finding.text =
        absl::StrCat(PairSentence(matrix, "Most", AsExtreme(matrix, *most, defined)), " ",
                     PairSentence(matrix, "Least", AsExtreme(matrix, *least, defined)));
    if (defined > 2 && (most->interval.has_value() || least->interval.has_value())) {
      absl::StrAppend(&finding.text,
                      " These intervals allow for the choice of the most and the least of ",
                      defined, " pairs; those in the matrix do not.");
    }
  }
  for (const std::string& sentence : {FamiliesSentence(matrix), NoiseSentence(matrix)}) {
    absl::StrAppend(&finding.text, sentence.empty() ? "" : " ", sentence);
  }
  if (!DaggerOf(most->interval).empty() || !DaggerOf(least->interval).empty()) {
    finding.text += " † All replicates agree: resampling cannot show the uncertainty.";
  }
  if (matrix.level > 0 && most->correlation.n < kIntervalApproachesMin) {
    absl::StrAppend(&finding.text, " With fewer than ", kIntervalApproachesMin,
                    " approaches, intervals may be too short.");
  }
  return finding;
}

// The comparison of the best two approaches of a benchmark; null where they were not compared.
const PairedComparison* BestTwo(const BenchmarkComparison& comparison) {
  const PairedComparison* found = nullptr;
  for (const PairedComparison& pair : comparison.pairs) {
    const double sign = comparison.goal == Goal::kMinimize ? -1 : 1;
    const bool better = found == nullptr || sign * pair.mean_a > sign * found->mean_a ||
                        (pair.mean_a == found->mean_a && sign * pair.mean_b > sign * found->mean_b);
    found = better ? &pair : found;
  }
  return found;
}

Finding RankFinding(const std::vector<BenchmarkComparison>& comparisons) {
  size_t pairs = 0;
  size_t unresolved = 0;
  std::vector<std::string> leaders;
  size_t benchmarks = 0;
  for (const BenchmarkComparison& comparison : comparisons) {
    pairs += comparison.pairs.size();
    for (const PairedComparison& pair : comparison.pairs) {
      unresolved += pair.p_value_holm >= kResolvedBelow ? 1 : 0;
    }
    const PairedComparison* best = BestTwo(comparison);
    benchmarks += best != nullptr ? 1 : 0;
    if (best != nullptr && best->p_value_holm >= kResolvedBelow) {
      leaders.push_back(absl::StrCat(ScreenName(comparison.benchmark), " (",
                                     ScreenName(comparison.approaches[best->a]), ", ",
                                     ScreenName(comparison.approaches[best->b]), ")"));
    }
  }
  Finding finding{"Unresolved ranks", ""};
  if (pairs == 0) {
    finding.text =
        "Not known: without per-example scores nothing says which differences chance explains.";
    return finding;
  }
  finding.text = absl::StrCat(unresolved, " of ", pairs,
                              " differences between two approaches on a benchmark could be chance "
                              "of its test examples (p ≥ ",
                              kResolvedBelow, " after Holm's correction). ");
  absl::StrAppend(
      &finding.text,
      leaders.empty()
          ? absl::StrCat("The best approach is resolved on every benchmark.")
          : absl::StrCat("The best two are not resolved on ", leaders.size(), " of ",
                         Counted(benchmarks, "benchmark"), ": ", FirstNames(leaders, "; "), "."));
  return finding;
}

Finding MissingFinding(const ScoreTable& table) {
  std::map<CellState, size_t> states;
  std::vector<std::string> benchmarks;
  size_t missing = 0;
  size_t partial = 0;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    size_t here = 0;
    for (const ScoreCell& cell : table.column(b)) {
      if (cell.state != CellState::kValue) {
        ++states[cell.state];
        ++here;
      } else {
        partial += cell.IsPartial() ? 1 : 0;
      }
    }
    missing += here;
    if (here > 0) {
      benchmarks.push_back(absl::StrCat(ScreenName(table.benchmarks()[b].name), " (", here, ")"));
    }
  }
  Finding finding{"Missing scores", partial > 0 ? "" : "None."};
  if (missing > 0) {
    std::vector<std::string> reasons;
    reasons.reserve(states.size());
    for (const auto& [state, count] : states) {
      reasons.push_back(absl::StrCat(count, " ", CellStateName(state)));
    }
    finding.text =
        absl::StrCat(missing, " of ", table.approaches().size() * table.benchmarks().size(), " (",
                     absl::StrJoin(reasons, ", "), "): ", FirstNames(benchmarks), ".");
  }
  if (partial > 0) {
    absl::StrAppend(&finding.text, missing > 0 ? " Of " : "Of ",
                    Counted(partial, missing > 0 ? "other score" : "score"),
                    " some seeds or settings are not there (*).");
  }
  return finding;
}

}  // namespace

std::vector<Finding> FindingsOf(const ScoreTable& table, const ConcurrenceMatrix* matrix,
                                const std::vector<BenchmarkComparison>& comparisons) {
  std::vector<Finding> findings;
  if (matrix != nullptr) {
    findings.push_back(ConcurrenceFinding(*matrix));
  }
  findings.push_back(MissingFinding(table));
  if (const std::vector<std::string> flags = FlagSentences(
          FlagBenchmarks(table), NamesOf(table.benchmarks()), table.approaches().size());
      !flags.empty()) {
    findings.push_back({"Floors and ceilings", absl::StrJoin(flags, " ")});
  }
  findings.push_back(RankFinding(comparisons));
  return findings;
}

std::string ComparedText(const ScoreTable& table) {
  std::string text = absl::StrCat(
      Counted(table.approaches().size(), "approach", "es"), Listed(table.approaches()), " on ",
      Counted(table.benchmarks().size(), "benchmark"), Listed(table.benchmarks()), ".");
  if (const std::vector<std::string> minimized = table.Minimized(); !minimized.empty()) {
    absl::StrAppend(&text, " ", LessIsBetter(minimized), ".");
  }
  for (const std::string& sentence : ChoiceWarning(table.benchmarks())) {
    absl::StrAppend(&text, " ", sentence);
  }
  return text;
}

}  // namespace concur::analysis
