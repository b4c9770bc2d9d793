// SPDX-License-Identifier: Apache-2.0
#include "report/notes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analysis/comparison/parts.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/structure.h"
#include "analysis/families.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"
#include "analysis/statistics/multiplicity.h"
#include "base/decimal.h"
#include "base/suggest.h"
#include "report/table.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

constexpr int kNoteDecimals = 2;

void AddMissing(const ConcurrenceMatrix& matrix, std::vector<std::string>& notes) {
  if (!matrix.left_out.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : matrix.left_out) {
      names.push_back(ScreenName(name));
    }
    notes.push_back(absl::StrCat("Left out, for they lack a score: ", FirstNames(names, "; ")));
  }
  if (!matrix.missing.empty()) {
    notes.push_back("Missing scores by benchmark:");
  }
  for (size_t i = 0; i < matrix.missing.size();) {
    const size_t benchmark = matrix.missing[i].benchmark;
    std::vector<std::string> names;
    for (; i < matrix.missing.size() && matrix.missing[i].benchmark == benchmark; ++i) {
      std::string name = ScreenName(matrix.approaches[matrix.missing[i].approach]);
      if (matrix.missing[i].state != CellState::kMissing) {
        absl::StrAppend(&name, " (", CellStateName(matrix.missing[i].state), ")");
      }
      names.push_back(std::move(name));
    }
    notes.push_back(absl::StrCat("  ", ScreenName(matrix.benchmarks[benchmark]), ": ", names.size(),
                                 " of ", matrix.approaches.size(), ": ", FirstNames(names, "; ")));
  }
  if (!matrix.partial.empty()) {
    std::vector<std::string> names;
    names.reserve(matrix.partial.size());
    for (const auto& [benchmark, count] : matrix.partial) {
      names.push_back(absl::StrCat(ScreenName(matrix.benchmarks[benchmark]), " (", count, ")"));
    }
    notes.push_back(
        absl::StrCat("Scores that lack seeds or settings: ", absl::StrJoin(names, ", ")));
  }
}

void AddUndefined(const ConcurrenceMatrix& matrix, std::vector<std::string>& notes) {
  for (const Undefined undefined :
       {Undefined::kTooFew, Undefined::kFirstConstant, Undefined::kSecondConstant,
        Undefined::kBothConstant, Undefined::kAllOnTop}) {
    std::vector<std::string> names;
    for (const MatrixPair& pair : matrix.pairs) {
      if (pair.correlation.undefined == undefined) {
        names.push_back(absl::StrCat(pair.a + 1, "–", pair.b + 1));
      }
    }
    if (!names.empty()) {
      notes.push_back(
          absl::StrCat("undef: ", UndefinedReason(undefined), ": ", absl::StrJoin(names, " ")));
    }
  }
}

void AddWarnings(const ConcurrenceMatrix& matrix, std::vector<std::string>& notes) {
  std::map<std::string, std::vector<std::string>> warnings;
  for (const MatrixPair& pair : matrix.pairs) {
    std::vector<std::string> parts = absl::StrSplit(pair.warning, "; ", absl::SkipEmpty());
    std::erase_if(parts, [](const std::string& part) {  // MatrixNotes says it
      return absl::StrContains(kAllReplicatesAgree, part);
    });
    if (!parts.empty()) {
      warnings[absl::StrJoin(parts, "; ")].push_back(absl::StrCat(pair.a + 1, "–", pair.b + 1));
    }
  }
  for (const auto& [warning, names] : warnings) {
    const bool all = names.size() == matrix.pairs.size();
    notes.push_back(
        absl::StrCat("intervals: ", warning, ": ", all ? "all pairs" : absl::StrJoin(names, " ")));
  }
}

void AddFamilyNotes(const ConcurrenceMatrix& matrix, std::vector<std::string>& notes) {
  const Families& families = matrix.families;
  if (families.declared()) {
    notes.push_back(FamiliesSentence(matrix));
    notes.push_back(absl::StrCat("Families share the tag ", ScreenName(families.tag),
                                 "; intraclass correlation: ", Fixed(families.intraclass, 2), "."));
  }
  for (const std::string& warning : MatrixWarnings(matrix)) {
    notes.push_back(absl::StrCat("Warning: ", warning, "."));
  }
}

// Sentence on how many pairs are significant, before and after correction; "" where there are no
// p-values or too few to correct.
std::string SignificanceText(const ConcurrenceMatrix& matrix) {
  constexpr size_t kPairsMin = 3;
  const CorrectedPValues p(matrix);
  const auto count = [](const std::vector<double>& values) {
    return std::count_if(values.begin(), values.end(), [](double value) { return value < 0.05; });
  };
  const auto tests = std::count_if(p.plain.begin(), p.plain.end(),
                                   [](double value) { return !std::isnan(value); });
  if (static_cast<size_t>(tests) < kPairsMin) {
    return "";
  }
  return absl::StrCat("p < .05: ", count(p.plain), " of ", tests, " pairs; ", count(p.holm),
                      " after Holm's correction, ", count(p.bh), " by Benjamini and Hochberg's",
                      matrix.families.declared() ? " (p-values permute families)." : ".");
}

}  // namespace

CorrectedPValues::CorrectedPValues(const ConcurrenceMatrix& matrix) {
  for (const MatrixPair& pair : matrix.pairs) {
    plain.push_back(pair.correlation.p_value);
  }
  holm = HolmAdjusted(plain);
  bh = BenjaminiHochbergAdjusted(plain);
}

std::string LessIsBetter(const std::vector<std::string>& benchmarks) {
  std::vector<std::string> names;
  names.reserve(benchmarks.size());
  for (const std::string& name : benchmarks) {
    names.push_back(ScreenName(name));
  }
  return absl::StrCat("Less is better on ", absl::StrJoin(names, ", "));
}

namespace {

std::vector<AxisEntry> EntriesOf(const ConcurrenceMatrix& matrix) {
  std::vector<AxisEntry> benchmarks;
  for (size_t i = 0; i < matrix.choices.size(); ++i) {
    benchmarks.push_back({matrix.benchmarks[i], {}, {}, matrix.choices[i]});
  }
  return benchmarks;
}

}  // namespace

std::vector<std::string> ChoiceWarning(const std::vector<AxisEntry>& benchmarks) {
  constexpr double kSmall = 0.005;  // shown as 0.00
  std::vector<std::string> names;
  size_t chosen = 0;
  bool matters = false;
  for (const AxisEntry& benchmark : benchmarks) {
    const SettingChoice& choice = benchmark.choice;
    chosen += choice.on.empty() ? 0 : 1;
    if (choice.on == "test") {
      names.push_back(ScreenName(benchmark.name));
      matters = matters || std::abs(choice.optimism.value_or(1)) >= kSmall;
    }
  }
  if (!matters) {
    return {};
  }
  const std::string of =
      names.size() == chosen ? "" : absl::StrCat(" of ", FirstNames(names, ", "));
  return {absl::StrCat("Settings", of, " were chosen on the test sets: scores are too good.")};
}

std::vector<std::string> ChoiceWarning(const ConcurrenceMatrix& matrix) {
  return ChoiceWarning(EntriesOf(matrix));
}

std::vector<std::string> ChoiceNotes(const std::vector<AxisEntry>& benchmarks) {
  std::map<std::string, std::vector<std::string>> by_choice;
  std::map<std::string, std::vector<std::string>> gains;  // likewise
  size_t chosen = 0;
  for (const AxisEntry& benchmark : benchmarks) {
    const SettingChoice& choice = benchmark.choice;
    if (choice.on.empty()) {
      continue;
    }
    ++chosen;
    by_choice[choice.on].push_back(ScreenName(benchmark.name));
    if (choice.optimism.has_value()) {
      gains[choice.on].push_back(
          absl::StrCat(ScreenName(benchmark.name), " ", Fixed(*choice.optimism, kNoteDecimals)));
    }
  }
  std::vector<std::string> notes;
  for (const auto& [on, names] : by_choice) {
    const std::string of =
        names.size() == chosen ? "" : absl::StrCat(" of ", FirstNames(names, ", "));
    notes.push_back(
        on == "validation" ? absl::StrCat("Settings", of, " were chosen on validation sets.")
        : on == "test"
            ? absl::StrCat("Settings", of, " were chosen on the test sets",
                           ChoiceWarning(benchmarks).empty() ? "." : ": scores are too good.")
        : on == "other seeds"
            ? absl::StrCat("Settings", of, " were chosen for each seed by the test scores of the ",
                           "other seeds.")
            : absl::StrCat("Settings", of, " were chosen on the ", ScreenName(on), "."));
  }
  for (const auto& [on, of] : gains) {
    const absl::string_view how =
        on == "test" ? "Choosing on the test sets makes scores look better by at least (estimated "
                       "by leaving out each seed in turn; --select best-on-other-seeds avoids it)"
                     : "Choosing on the test sets instead would make scores look better by";
    notes.push_back(
        absl::StrCat(how, ", on the mean over approaches: ", FirstNames(of, ", "), "."));
  }
  return notes;
}

std::vector<std::string> ChoiceNotes(const ConcurrenceMatrix& matrix) {
  return ChoiceNotes(EntriesOf(matrix));
}

std::vector<std::string> ChoiceNotes(const std::vector<AxisEntry>& before,
                                     const std::vector<AxisEntry>& after) {
  std::vector<std::string> notes = ChoiceNotes(before);
  std::vector<std::string> others = ChoiceNotes(after);
  if (notes == others) {
    return notes;
  }
  for (std::string& note : notes) {
    note = absl::StrCat("First table: ", note);
  }
  for (const std::string& note : others) {
    notes.push_back(absl::StrCat("Second table: ", note));
  }
  return notes;
}

std::string CoefficientTitle(const ConcurrenceMatrix& matrix) {
  constexpr std::array<const char*, 6> kNames = {"Kendall's tau-b",     "Pearson's r",
                                                 "Spearman's rho",      "weighted Kendall's tau",
                                                 "Overlap of the top ", "Rank-biased overlap"};
  return absl::StrCat(kNames[static_cast<size_t>(matrix.coefficient)],
                      matrix.coefficient == Coefficient::kTopK ? absl::StrCat(matrix.top) : "",
                      matrix.ties_within > 0
                          ? absl::StrCat(" (ties within ", ShortestDecimal(matrix.ties_within), ")")
                          : "");
}

std::string MatrixTitle(const ConcurrenceMatrix& matrix) {
  std::string title = absl::StrCat(CoefficientTitle(matrix), " over ",
                                   Counted(matrix.approaches.size(), "approach", "es"), ", ",
                                   Counted(matrix.benchmarks.size(), "benchmark"));
  if (matrix.level > 0) {
    absl::StrAppend(&title, "; ", ShortestDecimal(matrix.level * 100),
                    " % intervals: ", matrix.interval_method);
  }
  return title;
}

std::string PairText(const MatrixPair& pair, bool with_interval) {
  std::string text = FixedOrUndef(pair.correlation.OptionalValue(), kNoteDecimals);
  if (with_interval && pair.interval.has_value()) {
    absl::StrAppend(&text, " ", IntervalText(*pair.interval, kNoteDecimals));
  }
  return absl::StrCat(text, DaggerOf(pair.interval), pair.missing.empty() ? "" : "*");
}

std::string RelativesText(const Relatives& relatives) {
  const std::string many = absl::StrCat(relatives.related, " of ", relatives.approaches);
  return relatives.sign == Relatives::Sign::kTag
             ? absl::StrCat(many, " approaches share the tag ", ScreenName(relatives.tag),
                            " with another one")
             : absl::StrCat(many, " approaches have names that start like another one's (",
                            ScreenName(relatives.first), ", ", ScreenName(relatives.second),
                            ", …)");
}

std::vector<std::string> MatrixWarnings(const ConcurrenceMatrix& matrix) {
  std::vector<std::string> warnings = matrix.warnings;
  if (matrix.relatives.has_value()) {
    warnings.push_back(
        absl::StrCat(RelativesText(*matrix.relatives),
                     ": with relatives intervals are too short; declare them with --families TAG"));
  }
  return warnings;
}

std::string FewApproachesNote() {
  return absl::StrCat("Fewer than ", kIntervalApproachesMin,
                      " approaches: intervals may be too short.");
}

std::string FamiliesSentence(const ConcurrenceMatrix& matrix) {
  return matrix.families.declared()
             ? absl::StrCat(matrix.approaches.size(), " approaches in ",
                            matrix.families.members.size(), " families tell about as much as ",
                            Fixed(matrix.families.approaches, 1), " unrelated ones.")
             : "";
}

std::string NoiseSentence(const ConcurrenceMatrix& matrix) {
  std::vector<double> lowered;
  double free = 0;
  for (const MatrixPair& pair : matrix.pairs) {
    if (pair.noise_free.has_value()) {
      free = *pair.noise_free;
      lowered.push_back(free - pair.correlation.value);
    }
  }
  if (lowered.empty()) {
    return "";
  }
  if (matrix.pairs.size() == 1) {
    return absl::StrCat("Corrected for the noise of seeds: ", Fixed(free, kNoteDecimals), ".");
  }
  std::sort(lowered.begin(), lowered.end());
  return absl::StrCat(
      "Corrected for the noise of seeds, pairs are higher by ",
      Fixed((lowered[(lowered.size() - 1) / 2] + lowered[lowered.size() / 2]) / 2, kNoteDecimals),
      " (median), at most ", Fixed(lowered.back(), kNoteDecimals), ".");
}

std::vector<std::string> FlagSentences(const std::vector<BenchmarkFlag>& flags,
                                       const std::vector<std::string>& benchmarks,
                                       size_t approaches) {
  std::map<std::string, std::vector<std::string>> kinds;
  for (const BenchmarkFlag& flag : flags) {
    const std::string where =
        flag.kind == BenchmarkFlag::Kind::kCeiling ? "Ceiling (within 1 % of a perfect score): "
        : flag.kind == BenchmarkFlag::Kind::kFloor
            ? absl::StrCat("Floor (within 1 % of ",
                           flag.end == 0 ? "zero" : "the worst score, " + ShortestDecimal(flag.end),
                           "): ")
            : "Constant (the same score): ";
    kinds[where].push_back(absl::StrCat(ScreenName(benchmarks[flag.benchmark]), " (",
                                        flag.approaches, " of ", approaches, ")"));
  }
  std::vector<std::string> sentences;
  sentences.reserve(kinds.size());
  for (const auto& [where, names] : kinds) {
    sentences.push_back(absl::StrCat(where, FirstNames(names), "."));
  }
  return sentences;
}

std::vector<std::string> MatrixNotes(const ConcurrenceMatrix& matrix) {
  const auto any = [&](auto condition) {
    return std::any_of(matrix.pairs.begin(), matrix.pairs.end(), condition);
  };
  std::vector<std::string> notes;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) {
      notes.push_back(std::move(sentence));
    }
  };
  add(FamiliesSentence(matrix));
  add(NoiseSentence(matrix));
  if (!matrix.left_out.empty()) {
    notes.push_back(absl::StrCat(matrix.left_out.size(), " approaches lack a score: left out."));
  }
  if (!matrix.missing.empty()) {
    notes.push_back(absl::StrCat("* over fewer approaches: ", matrix.missing.size(), " of ",
                                 matrix.approaches.size() * matrix.benchmarks.size(),
                                 " scores are missing."));
  }
  if (!matrix.partial.empty()) {
    notes.push_back(absl::StrCat(matrix.partial.size(),
                                 " scores lack seeds or settings (--notes lists them)."));
  }
  for (std::string& sentence :
       FlagSentences(matrix.flags, matrix.benchmarks, matrix.approaches.size())) {
    notes.push_back(std::move(sentence));
  }
  add(SignificanceText(matrix));
  std::vector<std::string> intervals;
  if (any([](const MatrixPair& pair) { return !DaggerOf(pair.interval).empty(); })) {
    intervals.emplace_back(kAllReplicatesAgree);
  }
  if (any([](const MatrixPair& pair) {
        return pair.interval.has_value() && pair.correlation.n < kIntervalApproachesMin;
      })) {
    intervals.push_back(FewApproachesNote());
  }
  if (!intervals.empty()) {
    notes.push_back(absl::StrJoin(intervals, " "));
  }
  std::set<std::string> reasons;
  for (const MatrixPair& pair : matrix.pairs) {
    if (!pair.correlation.defined()) {
      reasons.insert(std::string(UndefinedReason(pair.correlation.undefined)));
    }
  }
  if (!reasons.empty()) {
    notes.push_back(absl::StrCat("undef: ", absl::StrJoin(reasons, ", or "), "."));
  }
  for (const std::string& warning : matrix.warnings) {
    notes.push_back(absl::StrCat("Warning: ", warning, "."));
  }
  if (!matrix.minimized.empty()) {
    notes.push_back(absl::StrCat(LessIsBetter(matrix.minimized), "."));
  }
  return notes;
}

std::vector<std::string> MatrixDetails(const ConcurrenceMatrix& matrix) {
  std::vector<std::string> notes;
  AddMissing(matrix, notes);
  AddUndefined(matrix, notes);
  AddWarnings(matrix, notes);
  AddFamilyNotes(matrix, notes);
  for (std::string& sentence : ChoiceNotes(matrix)) {
    notes.push_back(std::move(sentence));
  }
  return notes;
}

std::string CellText(const ScoreCell& cell, int decimals) {
  switch (cell.state) {
    case CellState::kMissing:
      return "—";
    case CellState::kFailed:
      return "failed";
    case CellState::kPending:
      return "pending";
    case CellState::kStopped:
      return "stopped";
    case CellState::kValue:
      break;
  }
  std::string text = Fixed(cell.value, decimals);
  if (cell.seeds >= 2) {
    absl::StrAppend(&text, " ±", Fixed(cell.standard_deviation, decimals));
  }
  return text + (cell.IsPartial() ? kPartialSign : "");
}

TableCell AsTableCell(const ScoreTable& table, size_t approach, size_t benchmark) {
  const ScoreCell& cell = table.cell(approach, benchmark);
  return NumberCell(cell.state == CellState::kValue ? std::optional(cell.value) : std::nullopt,
                    CellText(cell, table.decimals(benchmark)));
}

std::vector<std::string> ScoreNotes(const ScoreTable& table) {
  std::map<CellState, size_t> counts;
  bool incomplete = false;
  bool has_deviations = false;
  const size_t cells = table.approaches().size() * table.benchmarks().size();
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    for (const ScoreCell& cell : table.column(b)) {
      const bool has_value = cell.state == CellState::kValue;
      ++counts[cell.state];
      has_deviations = has_deviations || (has_value && cell.seeds >= 2);
      incomplete = incomplete || (has_value && cell.IsPartial());
    }
  }
  std::vector<std::string> notes;
  if (const size_t without_value = cells - counts[CellState::kValue]; without_value > 0) {
    std::vector<std::string> states;
    for (const CellState state :
         {CellState::kFailed, CellState::kPending, CellState::kStopped, CellState::kMissing}) {
      if (counts[state] > 0) {
        states.push_back(absl::StrCat(counts[state], " ", CellStateName(state)));
      }
    }
    notes.push_back(absl::StrCat(without_value, " of ", cells,
                                 " cells have no score: ", absl::StrJoin(states, ", "),
                                 counts[CellState::kMissing] > 0 ? " (—)." : "."));
  }
  if (const std::vector<std::string> minimized = table.Minimized(); !minimized.empty()) {
    notes.push_back(LessIsBetter(minimized) + ".");
  }
  for (const std::string& sentence : BeyondScale(table)) {
    notes.push_back(absl::StrCat("Warning: ", sentence, "."));
  }
  for (const std::string& sentence : PartWarnings(table)) {
    notes.push_back(absl::StrCat("Warning: ", sentence, "."));
  }
  for (std::string& sentence : ChoiceWarning(table.benchmarks())) {
    notes.push_back(std::move(sentence));
  }
  if (has_deviations) {
    notes.push_back("± the standard deviation over seeds.");
  }
  if (incomplete) {
    notes.push_back(
        "* some seeds or settings of this cell failed, are pending, or were canceled or stopped.");
  }
  return notes;
}

}  // namespace concur::analysis
