// SPDX-License-Identifier: Apache-2.0
// Scores predictions against a benchmark's test data. The only place of the worker that knows what
// a question is.
#ifndef CONCUR_WORKER_EXECUTION_SCORER_H_
#define CONCUR_WORKER_EXECUTION_SCORER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "core/result.h"
#include "core/sweep/sweep.h"

namespace concur::qa {
struct Dataset;
}  // namespace concur::qa

namespace concur::worker {

struct Scores {
  std::vector<Metric> metrics;  // exact_match and f1, in percent
  std::string examples;         // per-example scores, JSON lines
};

// Thread-safe. Keeps the last few data sets: eval jobs on one test set follow each other.
class Scorer {
 public:
  // Shared: the cache may drop a data set while it is being used.
  using Gold = std::shared_ptr<const qa::Dataset>;

  // The data set at `path`, an input of this generation (worker/inputs/verified_inputs.h).
  // InvalidArgument when it is malformed.
  absl::StatusOr<Gold> Load(uint64_t generation, const std::string& path);

  // Scores the predictions at `path`. InvalidArgument when they are malformed. REQUIRES:
  // IsQa(format).
  static absl::StatusOr<Scores> Score(const Gold& gold, DataFormat format, const std::string& path);

 private:
  static constexpr size_t kKeptMax = 4;
  static constexpr int64_t kKeptBytesMax = 64 << 20;  // a file's; larger ones are read each time

  Mutex mu_;
  std::deque<std::pair<uint64_t, Gold>> kept_ ABSL_GUARDED_BY(mu_);
};

struct MetricsFile {
  std::string text;
  std::vector<Metric> metrics;  // names in order
};

// Reads {metrics}: {"name": finite number, …}, with "parts": {"part": {"name": finite number, …,
// "n": examples}} for metrics of parts of the test set. A metric that every part has and the whole
// lacks becomes the unweighted mean over parts. InvalidArgument on anything else: no entry, more
// than the limits of a result, a name twice or too long, NaN, infinities, a magnitude above
// kMetricAbsMax, parts within parts.
absl::StatusOr<MetricsFile> ReadMetrics(const std::string& path);
absl::StatusOr<std::vector<Metric>> ParseMetrics(const std::string& text);

struct ExamplesFile {
  std::string text;
  std::string note;  // "" when some metric is the mean of the scores that have its name
};

// Reads {examples}: per-example scores (qa/example_scores.h) of `metrics`, also of parts that the
// whole has, too. Those of which it has them get the number of examples. InvalidArgument
// "{examples}:LINE: …" for other text, also more than 256 MiB.
absl::StatusOr<ExamplesFile> ReadExamples(const std::string& path, std::vector<Metric>& metrics);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTION_SCORER_H_
