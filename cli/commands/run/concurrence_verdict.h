// SPDX-License-Identifier: Apache-2.0
// The outcome of `concur concurrence`, and how it is shown.
//
// Values and stateless functions; thread-compatible.
#ifndef CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_VERDICT_H_
#define CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "analysis/plan/verdict.h"
#include "cli/commands/run/concurrence_check.h"
#include "cli/output/print.h"

namespace concur::cli {

// The sweeps of a question are named "concurrence=NEW@REFERENCE".
inline constexpr absl::string_view kConcurrencePrefix = "concurrence=";

// The claim asked about; the description of each of its sweeps names it.
struct AskedConcurrence {
  double above = 0.8;
  double level = 0.95;
  size_t looks = 1;
};
std::string DescriptionOf(const AskedConcurrence& asked);

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
  std::vector<Outlier> outliers;
  std::vector<std::string> missing;  // approaches without both scores, of those that were released
  std::string why;                   // it stopped
  int64_t jobs = 0;
  absl::Duration computing;  // summed over these jobs
};

// The sentence to quote.
std::string VerdictSentence(const ConcurrenceResult& result);
std::string VerdictText(const ConcurrenceResult& result);
Json VerdictJson(const ConcurrenceResult& result);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_VERDICT_H_
