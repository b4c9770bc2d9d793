// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/concurrence_page.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/plan/verdict.h"
#include "analysis/score_table.h"
#include "base/status_macros.h"
#include "cli/commands/run/concurrence_check.h"
#include "cli/commands/run/concurrence_verdict.h"
#include "qa/builders/benchmark_check.h"
#include "report/figures/badge.h"
#include "report/figures/figures.h"
#include "report/html/report.h"
#include "report/table.h"
#include "report/text.h"

namespace concur::cli {
namespace {

using analysis::IntegerCell;
using analysis::NumberCell;
using analysis::PageSection;
using analysis::TextCell;

analysis::Color ColorOfClaim(analysis::Claim claim) {
  switch (claim) {
    case analysis::Claim::kShown:
      return {27, 115, 70};
    case analysis::Claim::kRefuted:
      return {163, 22, 61};
    case analysis::Claim::kOpen:
      return {160, 74, 0};
  }
  return {};
}

absl::StatusOr<std::string> PairSvg(const ConcurrenceResult& result) {
  const analysis::ScoreTable& scores = result.scores;
  analysis::ScatterOptions options;
  options.x = scores.benchmarks()[1].name;
  options.y = {scores.benchmarks()[0].name};
  options.families = result.asked.families;
  for (const Outlier& outlier : result.outliers) {
    options.labels.push_back(outlier.approach);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::ScatterPanel> panels,
                          analysis::ScatterPanels(scores, options));
  return analysis::ScatterSvg(scores, panels);
}

// Approaches without both scores have no ranks.
analysis::Table ApproachTable(const analysis::ScoreTable& scores) {
  const analysis::ScoreTable complete = scores.Oriented().CompleteCases();
  analysis::Table table;
  table.columns = {{"approach", "approach"},
                   {"new", scores.benchmarks()[0].name, true, scores.decimals(0)},
                   {"reference", scores.benchmarks()[1].name, true, scores.decimals(1)},
                   {"new_rank", "rank, new", true},
                   {"reference_rank", "rank, reference", true}};
  size_t next = 0;  // index in `complete`
  for (size_t i = 0; i < scores.approaches().size(); ++i) {
    const std::string& name = scores.approaches()[i].name;
    analysis::TableRow row = {TextCell(name)};
    for (size_t b = 0; b < 2; ++b) {
      const analysis::ScoreCell& cell = scores.cell(i, b);
      row.push_back(NumberCell(cell.state == analysis::CellState::kValue ? std::optional(cell.value)
                                                                         : std::nullopt));
    }
    const bool has_ranks =
        next < complete.approaches().size() && complete.approaches()[next].name == name;
    for (size_t b = 0; b < 2; ++b) {
      row.push_back(has_ranks ? IntegerCell(RankOf(complete, next, b)) : analysis::TableCell());
    }
    next += has_ranks ? 1 : 0;
    table.rows.push_back(std::move(row));
  }
  return table;
}

analysis::Table DataTable(const BenchmarkCheck& check) {
  analysis::Table table;
  table.columns = {
      {"set", "set"}, {"check", "check"}, {"count", "count", true}, {"of", "of", true}};
  const auto add = [&](const std::string& set, std::string what, int64_t count, int64_t whole) {
    table.rows.push_back(
        {TextCell(set), TextCell(std::move(what)), IntegerCell(count), IntegerCell(whole)});
  };
  for (const auto& [set, counts] :
       {std::pair("new train", &check.train), std::pair("new test", &check.test)}) {
    add(set, "questions with an answer in the passage", counts->answerable, counts->questions);
    add(set, "questions that repeat an earlier one", counts->repeated, counts->questions);
  }
  for (const SharedText& shared : check.shared) {
    add(shared.set,
        absl::StrCat("passages that share ", qa::kSharedWords, " words in a row with ",
                     shared.with),
        shared.counts.shared, shared.counts.passages);
  }
  table.notes = check.warnings;
  return table;
}

}  // namespace

absl::StatusOr<std::string> VerdictPage(const ConcurrenceResult& result,
                                        const std::string& command) {
  PageSection verdict{"verdict", ""};
  verdict.paragraphs = {VerdictSentence(result)};
  for (const auto& [name, value] : VerdictLines(result)) {
    verdict.paragraphs.push_back(absl::StrCat(name, ": ", value));
  }
  CONCUR_ASSIGN_OR_RETURN(verdict.svg, PairSvg(result));
  PageSection outliers{"outliers", "Approaches that lower tau"};
  for (const Outlier& outlier : result.outliers) {
    outliers.paragraphs.push_back(OutlierText(outlier));
    outliers.paragraphs.insert(outliers.paragraphs.end(), outlier.examples.begin(),
                               outlier.examples.end());
  }
  PageSection approaches{"approaches", "Approaches"};
  approaches.table = ApproachTable(result.scores);
  PageSection data{"data", "The new benchmark's data"};
  if (result.check.has_value() && result.check->test.questions > 0) {
    data.table = DataTable(*result.check);
  } else {
    data.paragraphs = {"Not checked."};
  }
  PageSection made{"made", "How this was made"};
  made.paragraphs = {absl::StrCat("The command that repeats it: ", command)};
  std::vector<PageSection> sections = {std::move(verdict)};
  if (!outliers.paragraphs.empty()) {
    sections.push_back(std::move(outliers));
  }
  for (PageSection* const section : {&approaches, &data, &made}) {
    sections.push_back(std::move(*section));
  }
  return analysis::SectionsHtml(absl::StrCat(result.added, " beside ", result.reference), sections);
}

std::string VerdictBadge(const ConcurrenceResult& result) {
  return analysis::BadgeSvg(
      absl::StrCat("concurrence with ", result.reference),
      absl::StrCat("τ ", CoefficientText(result.verdict.tau, result.verdict.tau_interval)),
      ColorOfClaim(result.verdict.claim));
}

}  // namespace concur::cli
