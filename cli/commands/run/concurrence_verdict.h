// SPDX-License-Identifier: Apache-2.0
// The outcome of `concur concurrence`, and how it is shown.
//
// Values and stateless functions; thread-compatible.
#ifndef CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_VERDICT_H_
#define CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_VERDICT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "analysis/plan/verdict.h"
#include "analysis/score_table.h"
#include "cli/commands/run/concurrence_check.h"
#include "cli/output/print.h"

namespace concur::cli {

// The sweeps of a question are named "concurrence=NEW@REFERENCE".
inline constexpr absl::string_view kConcurrencePrefix = "concurrence=";

// The description of the sweep that measures floor and ceiling.
inline constexpr absl::string_view kProbeDescription = "floor and ceiling";

// The claim asked about.
struct AskedConcurrence {
  double above = 0.8;
  double level = 0.95;
  size_t looks = 1;
  std::string families = {};  // a tag, as FamiliesOf takes it
};
// The description of the sweep of a look (from 1 on): "tau > 0.8, level 0.95, look 1 of 2", and
// ", families by TAG" where one is asked for.
std::string DescriptionOf(const AskedConcurrence& asked, size_t look);
struct DescribedLook {
  AskedConcurrence asked;
  size_t look = 0;
};
// Nothing for a text that DescriptionOf does not write.
std::optional<DescribedLook> ParseDescription(absl::string_view text);

// An approach that lowers tau, its ranks (1: the best), and questions that it alone gets right or
// wrong.
struct Outlier {
  std::string approach;
  double without = 0;  // tau without it
  int64_t new_rank = 0;
  int64_t reference_rank = 0;
  std::vector<std::string> examples;
};

struct LookTaken {
  std::string sweep;
  int64_t approaches = 0;
  std::optional<double> tau;
  std::optional<analysis::Interval> interval;
};

struct ConcurrenceResult {
  std::string added;
  std::string reference;
  std::string sweep;  // the last one
  AskedConcurrence asked;
  std::optional<BenchmarkCheck> check;
  std::vector<LookTaken> looks;
  analysis::Verdict verdict;
  analysis::ScoreTable scores;  // columns: the new benchmark, the reference
  std::vector<Outlier> outliers;
  std::vector<std::string> missing;  // approaches without both scores, of those that were released
  std::string why;                   // it stopped
  int64_t jobs = 0;
  absl::Duration computing;  // summed over these jobs
};

// The two ends; null without an interval, or a value.
Json IntervalJson(const std::optional<analysis::Interval>& interval);
Json NumberJson(std::optional<double> value);

// "0.84 [0.71, 0.92]"; "undef" and "(no interval)" where there is none.
std::string CoefficientText(std::optional<double> value,
                            const std::optional<analysis::Interval>& interval);
std::string OutlierText(const Outlier& outlier);  // without its examples
// 1 for the best score of a column of a table that is oriented and complete.
int64_t RankOf(const analysis::ScoreTable& complete, size_t approach, size_t benchmark);

// The sentence to quote, and what else there is to say, by name.
std::vector<std::pair<std::string, std::string>> VerdictLines(const ConcurrenceResult& result);
std::string VerdictSentence(const ConcurrenceResult& result);
std::string VerdictText(const ConcurrenceResult& result);
Json VerdictJson(const ConcurrenceResult& result);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_VERDICT_H_
