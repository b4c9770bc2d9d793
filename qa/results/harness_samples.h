// SPDX-License-Identifier: Apache-2.0
// Per-example scores of the lm-evaluation-harness: samples_TASK_TIME.jsonl beside
// results_TIME.json, written with --log_samples.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_RESULTS_HARNESS_SAMPLES_H_
#define CONCUR_QA_RESULTS_HARNESS_SAMPLES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "qa/results/results.h"

namespace concur::imports {

// The samples of a task beside its results, also compressed; "" where there are none.
std::string FindHarnessSamples(const std::string& results_path, absl::string_view task);

// Gives `run` the per-example scores of its first metric, "METRIC" or "METRIC,FILTER", as
// ExampleMeans::Store does: where they do not explain it, `skipped` has the reason.
// InvalidArgument "PATH:LINE: …" for a line that is no sample.
absl::Status ReadHarnessSamples(const std::string& samples_path, Run& run,
                                std::vector<Skipped>& skipped);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_HARNESS_SAMPLES_H_
