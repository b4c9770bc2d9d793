// SPDX-License-Identifier: Apache-2.0
#include "report/claim_tables.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/concurrence/above.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/structure.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "base/decimal.h"
#include "base/suggest.h"
#include "report/notes.h"
#include "report/table.h"

namespace concur::analysis {
namespace {

// n, the value, and the ends of its interval.
void AppendPair(const MatrixPair& pair, TableRow& row) {
  row.push_back(WithFootnote(IntegerCell(pair.correlation.n), pair.missing.empty() ? "" : "*"));
  row.push_back(CoefficientCell(pair.correlation.OptionalValue()));
  row.push_back(LowCell(pair.interval));
  row.push_back(WithFootnote(HighCell(pair.interval), DaggerOf(pair.interval)));
}

}  // namespace

Table AboveTable(const ConcurrenceMatrix& matrix, double threshold, double level) {
  const std::string claim = absl::StrCat("> ", ShortestDecimal(threshold));
  Table table;
  table.title = absl::StrCat(CoefficientTitle(matrix), " ", claim, "? ", matrix.approaches.size(),
                             " approaches, ", matrix.benchmarks.size(), " benchmarks; one-sided ",
                             ShortestDecimal(100 * level), " % bounds: ", matrix.interval_method);
  table.key_columns = 2;
  table.columns = {{"a", "a"},
                   {"b", "b"},
                   {"n", "n", true},
                   {"value", "value", true},
                   {"low", "at least", true},
                   {"high", "at most", true},
                   {"verdict", claim},
                   {"least_shown", "shown from ~", true},
                   ForPrograms("warning")};
  table.columns[0].width_max = table.columns[1].width_max = kPairNameMax;
  std::map<Claim, size_t> counts;
  for (const MatrixPair& pair : matrix.pairs) {
    const AboveClaim judged = JudgeAbove(matrix, pair, threshold);
    ++counts[judged.claim];
    TableRow row = {TextCell(matrix.benchmarks[pair.a]), TextCell(matrix.benchmarks[pair.b])};
    AppendPair(pair, row);
    row.push_back(TextCell(std::string(ClaimName(judged.claim))));
    row.push_back(NumberCell(judged.least, judged.least.has_value() ? "" : "—"));
    row.push_back(TextCell(pair.warning));
    table.rows.push_back(std::move(row));
  }
  table.notes = {absl::StrCat(counts[Claim::kShown], " shown, ", counts[Claim::kRefuted],
                              " refuted, ", counts[Claim::kOpen], " open; each is wrong in ",
                              ShortestDecimal(100 - 100 * level),
                              " % of studies by itself, not all together.")};
  const std::vector<std::string> notes = MatrixNotes(matrix);
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  table.details = MatrixDetails(matrix);
  return table;
}

Table PartialTable(const PartialMatrix& partial) {
  const ConcurrenceMatrix& plain = partial.plain;
  Table table;
  table.title =
      absl::StrCat("Partial tau-b given ", partial.given, " over ", plain.approaches.size(),
                   " approaches, ", plain.benchmarks.size(), " benchmarks");
  if (plain.level > 0) {
    absl::StrAppend(&table.title, "; ", ShortestDecimal(100 * plain.level),
                    " % intervals: ", plain.interval_method);
  }
  table.key_columns = 2;
  table.columns = {{"a", "a"},
                   {"b", "b"},
                   {"n", "n", true},
                   {"tau", "tau-b", true},
                   {"partial", "partial", true},
                   {"low", "low", true},
                   {"high", "high", true},
                   ForPrograms("warning")};
  table.columns[0].width_max = table.columns[1].width_max = kPairNameMax;
  if (plain.level == 0) {
    table.columns[5].audience = table.columns[6].audience = TableColumn::Audience::kPrograms;
  }
  bool is_undefined = false;
  bool has_none = false;
  bool is_flat = false;
  for (size_t i = 0; i < plain.pairs.size(); ++i) {
    const MatrixPair& pair = plain.pairs[i];
    const PartialPair& own = partial.pairs[i];
    table.rows.push_back(
        {TextCell(plain.benchmarks[pair.a]), TextCell(plain.benchmarks[pair.b]),
         WithFootnote(IntegerCell(pair.correlation.n), pair.missing.empty() ? "" : "*"),
         CoefficientCell(pair.correlation.OptionalValue()), CoefficientCell(own.value),
         LowCell(own.interval), WithFootnote(HighCell(own.interval), DaggerOf(own.interval)),
         TextCell(own.warning)});
    is_undefined = is_undefined || !own.value.has_value();
    has_none = has_none || !own.interval.has_value();
    is_flat = is_flat || !DaggerOf(own.interval).empty();
  }
  if (!partial.left_out.empty()) {
    table.notes.push_back(absl::StrCat("Left out, for they have no ", partial.given, ": ",
                                       FirstNames(partial.left_out, "; "), "."));
  }
  if (is_undefined) {
    table.notes.push_back(absl::StrCat(
        "undef: the scores of one column are all equal, or one benchmark ranks wholly as ",
        partial.given, " does, or against it."));
  }
  if (is_flat) {
    table.notes.emplace_back(kAllReplicatesAgree);
  }
  if (plain.level > 0 && has_none) {
    table.notes.emplace_back(
        "Without an interval: pairs of fewer than 12 approaches, or undefined.");
  }
  const std::vector<std::string> notes = MatrixNotes(plain);
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  table.details = MatrixDetails(plain);
  return table;
}

Table SuiteTable(const ScoreTable& table, const std::vector<ConcurrenceMatrix>& members) {
  Table result;
  const ConcurrenceMatrix& first = members[0];
  result.title =
      absl::StrCat(CoefficientTitle(first), " of each benchmark with the mean rank on the ",
                   "other ", members.size() - 1, ", over ", first.approaches.size(), " approaches");
  if (first.level > 0) {
    absl::StrAppend(&result.title, "; ", ShortestDecimal(100 * first.level),
                    " % intervals: ", first.interval_method);
  }
  result.columns = {{"benchmark", "benchmark"}, {"n", "n", true},       {"value", "value", true},
                    {"low", "low", true},       {"high", "high", true}, ForPrograms("warning")};
  result.columns[0].width_max = kPairNameMax;
  if (first.level == 0) {
    result.columns[3].audience = result.columns[4].audience = TableColumn::Audience::kPrograms;
  }
  bool has_gaps = false;
  bool is_flat = false;
  for (const ConcurrenceMatrix& member : members) {
    TableRow row = {TextCell(member.benchmarks[0])};
    AppendPair(member.pairs[0], row);
    row.push_back(TextCell(member.pairs[0].warning));
    has_gaps = has_gaps || !member.pairs[0].missing.empty();
    is_flat = is_flat || !DaggerOf(member.pairs[0].interval).empty();
    result.rows.push_back(std::move(row));
  }
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) {
      result.notes.push_back(std::move(sentence));
    }
  };
  add(FamiliesSentence(first));
  add(has_gaps ? "* over fewer approaches; mean ranks are over the other scores that there are."
               : "");
  for (std::string& sentence : FlagSentences(FlagBenchmarks(table), NamesOf(table.benchmarks()),
                                             table.approaches().size())) {
    add(std::move(sentence));
  }
  add(is_flat ? kAllReplicatesAgree : "");
  if (const std::vector<std::string> minimized = table.Minimized(); !minimized.empty()) {
    add(LessIsBetter(minimized) + ".");
  }
  result.details = ChoiceNotes(table.benchmarks());
  return result;
}

}  // namespace concur::analysis
