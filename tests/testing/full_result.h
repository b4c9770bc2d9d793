// SPDX-License-Identifier: Apache-2.0
// Results in which every field has a value of its own. tests/core/result_test.cc fails when a field
// is forgotten here; the tests of each form of a result, when it is forgotten there.
#ifndef CONCUR_TESTS_TESTING_FULL_RESULT_H_
#define CONCUR_TESTS_TESTING_FULL_RESULT_H_

#include <optional>
#include <vector>

#include "core/result.h"

namespace concur::testing {

// One that succeeded and one that did not: no result can have both a success and a failure class.
inline std::vector<JobResult> FullResults() {
  JobResult result;
  result.succeeded = true;
  result.exit_code = 3;
  result.message = "a message, \"é\"\n";
  result.start_time = absl::FromUnixNanos(1'700'000'000'123'456'789);
  result.run_time = absl::Nanoseconds(1'234'567'891);
  result.memory_bytes_peak = int64_t{1} << 40;
  result.metrics = {{"exact_match", 100.0 / 3, 3},
                    {"f1", 1e-300, 0},
                    {"f1", 50, 2, std::nullopt, "a/b"},
                    {"exact_match", 25, 4, MetricInterval{0.5, 80}, "part \"é\""}};
  result.metrics[0].interval = {0.8403759, 90.57};
  result.artifacts = {{ArtifactKind::kPredictions, Sha256Of("a"), 1},
                      {ArtifactKind::kLog, Sha256Of("b"), 1 << 20},
                      {ArtifactKind::kOutputs, Sha256Of("c"), 0}};
  result.resumed_from = 2;
  JobResult failed = result;
  failed.succeeded = false;
  failed.failure = FailureClass::kTimeout;
  return {result, failed};
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_FULL_RESULT_H_
