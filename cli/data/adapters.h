// SPDX-License-Identifier: Apache-2.0
// Adapters: convert the output of common evaluation programs into what a job must write:
// predictions
// ({"id": "answer"}) or metrics ({"name": number}).
//
// All are strict: any deviation from the documented form is InvalidArgument, with the file, the
// place in it, what was expected and what was found.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_CLI_DATA_ADAPTERS_H_
#define CONCUR_CLI_DATA_ADAPTERS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::cli {

using AnswersById = std::map<std::string, std::string>;
using MetricsByName = std::map<std::string, double>;

// `path` is only used in error messages.
struct AdapterInput {
  std::string path;
  absl::string_view text;
};

// {"id": "answer"}, or {"id": …, "prediction_text": …} (Hugging Face's evaluate) in a list, in
// {"predictions": […]} or one a line.
absl::StatusOr<AnswersById> AdaptPredictions(const AdapterInput& input);

// {"id": [{"text": …, "probability": …}, …]} (Hugging Face; also "score", or "start_logit" and
// "end_logit") or {"id": [["text", score], …]} (DrQA): the answer of the highest score, the first
// of equals.
absl::StatusOr<AnswersById> AdaptNbest(const AdapterInput& input);

// One JSON object a line, with the answer in `answer_field`. Its question's id is in `id_field`;
// lines without one answer the questions `ids` in their order, and must be as many.
absl::StatusOr<AnswersById> AdaptLines(const AdapterInput& input,
                                       const std::vector<std::string>& ids,
                                       const std::string& id_field,
                                       const std::string& answer_field);

struct MetricsSelection {
  std::string at = {};  // names of nested objects with "/" between: "results/squad"
  std::vector<std::string> only =
      {};                  // the metrics to take; empty: all, each of which must be a number
  std::string strip = {};  // a prefix that names lose: "eval_"
};

// An object of numbers.
absl::StatusOr<MetricsByName> AdaptMetrics(const AdapterInput& input,
                                           const MetricsSelection& selection);

struct HarnessSelection {
  std::string task = {};    // may be "" when there is one
  std::string filter = {};  // the same
  std::string metric = {};  // for per-example scores; may be "" when there is one
};

// The results of the Language Model Evaluation Harness: {"results": {TASK: {"METRIC,FILTER":
// number, …}}}, or METRIC alone in older versions, with their standard errors, METRIC_stderr,
// where they are numbers.
absl::StatusOr<MetricsByName> AdaptHarness(const AdapterInput& input,
                                           const HarnessSelection& selection);

// Lines of the per-example scores behind one metric of one task, from its samples at `samples`; "":
// those that the harness wrote beside its results. InvalidArgument as well when they do not explain
// the metric: every one a number, with the metric as their mean.
absl::StatusOr<std::string> AdaptHarnessSamples(const AdapterInput& input,
                                                const HarnessSelection& selection,
                                                const std::string& samples);

}  // namespace concur::cli

#endif  // CONCUR_CLI_DATA_ADAPTERS_H_
