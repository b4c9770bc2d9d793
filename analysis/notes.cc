#include "analysis/notes.h"

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/correlation.h"
#include "analysis/csv.h"
#include "analysis/matrix.h"
#include "analysis/score_table.h"
#include "analysis/structure.h"
#include "analysis/text_table.h"

namespace concur::analysis {
namespace {

std::string ScreenName(const std::string& name) { return Printable(name, 60); }

void AddMissing(const ConcurrenceMatrix& matrix, std::vector<std::string>& notes) {
  if (!matrix.left_out.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : matrix.left_out) {
      names.push_back(ScreenName(name));
    }
    notes.push_back(absl::StrCat("Left out, for they lack a score: ", absl::StrJoin(names, "; ")));
  }
  if (!matrix.missing.empty()) {
    notes.push_back("* fewer approaches, because these scores are not there:");
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
                                 " of ", matrix.approaches.size(), ": ",
                                 absl::StrJoin(names, "; ")));
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
    if (!pair.warning.empty()) {
      warnings[pair.warning].push_back(absl::StrCat(pair.a + 1, "–", pair.b + 1));
    }
  }
  for (const auto& [warning, names] : warnings) {
    const bool all = names.size() == matrix.pairs.size();
    notes.push_back(
        absl::StrCat("intervals: ", warning, ": ", all ? "all pairs" : absl::StrJoin(names, " ")));
  }
}

void AddFlags(const ConcurrenceMatrix& matrix, std::vector<std::string>& notes) {
  for (const BenchmarkFlag& flag : matrix.flags) {
    const char* where = flag.kind == BenchmarkFlag::Kind::kCeiling ? "within 1 % of a perfect score"
                        : flag.kind == BenchmarkFlag::Kind::kFloor ? "within 1 % of zero"
                                                                   : "with the same score";
    notes.push_back(absl::StrCat(ScreenName(matrix.benchmarks[flag.benchmark]), ": ",
                                 BenchmarkFlagName(flag.kind), ": ", flag.approaches, " of ",
                                 matrix.approaches.size(), " approaches ", where));
  }
}

}  // namespace

std::string Fixed(double value, int decimals) {
  std::string text = absl::StrFormat("%.*f", decimals, value);
  if (text[0] == '-' && text.find_first_not_of("-0.") == std::string::npos) {
    text.erase(0, 1);
  }
  return text;
}

std::string MatrixTitle(const ConcurrenceMatrix& matrix) {
  constexpr std::array<const char*, 5> kNames = {"Kendall's tau-b", "Pearson's r", "Spearman's rho",
                                                 "weighted Kendall's tau", "Overlap of the top "};
  std::string title = absl::StrCat(
      kNames[static_cast<size_t>(matrix.coefficient)],
      matrix.coefficient == Coefficient::kTopK ? absl::StrCat(matrix.top) : "", " over ",
      matrix.approaches.size(), " approaches, ", matrix.benchmarks.size(), " benchmarks");
  if (matrix.level > 0) {
    absl::StrAppend(&title, "; ", ShortestDecimal(matrix.level * 100),
                    " % intervals: ", matrix.interval_method);
  }
  return title;
}

std::string PairText(const MatrixPair& pair, int decimals) {
  std::string text = pair.correlation.defined() ? Fixed(pair.correlation.value, decimals) : "undef";
  if (pair.interval.has_value()) {
    absl::StrAppend(&text, " [", Fixed(pair.interval->low, decimals), ", ",
                    Fixed(pair.interval->high, decimals), "]");
  }
  return text + (pair.missing.empty() ? "" : "*");
}

std::vector<std::string> MatrixNotes(const ConcurrenceMatrix& matrix) {
  std::vector<std::string> notes;
  AddMissing(matrix, notes);
  AddUndefined(matrix, notes);
  AddWarnings(matrix, notes);
  AddFlags(matrix, notes);
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
    case CellState::kValue:
      break;
  }
  std::string text = Fixed(cell.value, decimals);
  if (cell.seeds >= 2) {
    absl::StrAppend(&text, " ±", Fixed(cell.standard_deviation, decimals));
  }
  return text + (cell.failed > 0 || cell.pending > 0 ? "*" : "");
}

std::vector<std::string> ScoreNotes(const ScoreTable& table) {
  size_t without_value = 0;
  bool incomplete = false;
  const size_t cells = table.approaches().size() * table.benchmarks().size();
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    for (const ScoreCell& cell : table.column(b)) {
      const bool has_value = cell.state == CellState::kValue;
      without_value += has_value ? 0 : 1;
      incomplete = incomplete || (has_value && (cell.failed > 0 || cell.pending > 0));
    }
  }
  std::vector<std::string> notes;
  if (without_value > 0) {
    notes.push_back(
        absl::StrCat(without_value, " of ", cells, " cells have no score (—: missing)."));
  }
  if (incomplete) {
    notes.push_back("* some seeds or settings of this cell failed or are pending.");
  }
  return notes;
}

}  // namespace concur::analysis
