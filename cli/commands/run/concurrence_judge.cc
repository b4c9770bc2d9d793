// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/concurrence_judge.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/concurrence/uncertainty.h"
#include "analysis/plan/verdict.h"
#include "analysis/score_table.h"
#include "base/status_macros.h"
#include "cli/commands/run/published_reference.h"
#include "cli/study/example_runs.h"
#include "cli/study/study.h"

namespace concur::cli {
namespace {

absl::StatusOr<analysis::NoiseEstimate> NoiseFreeOf(const Study& study,
                                                    const std::vector<std::string>& names,
                                                    const analysis::VerdictOptions& verdict) {
  analysis::NoiseEstimate noise_free;
  if (IsPublished(names[1])) {
    return absl::NotFoundError("published scores come without per-example scores");
  }
  if (!HasExamples(study)) {
    return noise_free;
  }
  noise_free.asked = true;
  analysis::UncertaintyOptions options;
  options.bootstrap.level = analysis::LevelOfVerdict(verdict);
  options.bootstrap.replicates = 1000;
  options.bootstrap.parallel_for = verdict.bootstrap.parallel_for;
  CONCUR_ASSIGN_OR_RETURN(analysis::ExampleRuns runs, ExampleRunsOf(study, "", {}, names));
  CONCUR_ASSIGN_OR_RETURN(const analysis::Uncertainty uncertainty,
                          analysis::ComputeUncertainty(std::move(runs), options));
  noise_free.tau = uncertainty.pairs[0].noise_free;
  noise_free.interval = uncertainty.pairs[0].noise_free_interval;
  return noise_free;
}

}  // namespace

absl::StatusOr<analysis::ScoreTable> PairScores(const Study& study, const ComparedPair& pair) {
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable all,
                          ScoreTableOf(study, "", {.divide = false}));
  if (!IsPublished(pair.reference)) {
    return all.SelectBenchmarks({pair.added, pair.reference});
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable added, all.SelectBenchmarks({pair.added}));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable published, PublishedScores(pair.reference));
  CONCUR_ASSIGN_OR_RETURN(
      analysis::ScoreTable both,
      analysis::ScoreTable::Create(added.approaches(),
                                   {added.benchmarks()[0], published.benchmarks()[0]}));
  const std::vector<std::string> names = analysis::NamesOf(published.approaches());
  for (size_t i = 0; i < both.approaches().size(); ++i) {
    both.cell(i, 0) = added.cell(i, 0);
    const auto row = std::find(names.begin(), names.end(), both.approaches()[i].name);
    if (row != names.end()) {
      both.cell(i, 1) = published.cell(static_cast<size_t>(row - names.begin()), 0);
    }
  }
  return both;
}

absl::StatusOr<analysis::Verdict> JudgeStudy(const Study& study, const analysis::ScoreTable& scores,
                                             const ComparedPair& pair,
                                             const analysis::VerdictOptions& options,
                                             bool is_whole) {
  absl::StatusOr<analysis::NoiseEstimate> noise_free =
      NoiseFreeOf(study, {pair.added, pair.reference}, options);
  if (absl::IsUnavailable(noise_free.status())) {  // the same command again may get it
    return noise_free.status();
  }
  const absl::Status failed = noise_free.status();
  if (!failed.ok()) {
    noise_free.emplace().asked = true;
  }
  CONCUR_ASSIGN_OR_RETURN(analysis::Verdict verdict,
                          analysis::JudgePair(scores, *noise_free, options));
  if (!failed.ok()) {
    verdict.warning = absl::StrCat(
        verdict.warning, verdict.warning.empty() ? "" : "; ",
        "noise of the scores is unknown, so that nothing can be refuted: ", failed.message());
  }
  if (!is_whole) {
    verdict.claim = analysis::Claim::kOpen;
    verdict.precise = false;
  }
  return verdict;
}

}  // namespace concur::cli
