// SPDX-License-Identifier: Apache-2.0
// Looks at the data of a new benchmark before `concur concurrence` runs anything on it.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_CHECK_H_
#define CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/sweep/sweep.h"
#include "qa/builders/benchmark_check.h"

namespace concur::cli {

// Passages of one set that share 13 words in a row with another.
struct SharedText {
  std::string set;   // "new test"
  std::string with;  // "reference train"
  qa::SharedPassages counts;
};

struct BenchmarkCheck {
  qa::QuestionCounts train;
  qa::QuestionCounts test;
  std::vector<SharedText> shared;
  std::vector<std::string> warnings;
};

// Data files by their paths; null: the reference has none; formats other than qa have no counts.
// FailedPrecondition, with the file and the remedy, for a benchmark that cannot rank anybody: no
// test or no train set, the reference's own test data, too few different questions, answers that
// mostly stand in no passage.
absl::StatusOr<BenchmarkCheck> CheckNewBenchmark(const BenchmarkSpec& added,
                                                 const BenchmarkSpec* reference);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_CHECK_H_
