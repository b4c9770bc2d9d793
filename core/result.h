// SPDX-License-Identifier: Apache-2.0
// The result of an attempt: how it ended, its metrics and its artifacts.
//
// Values.
#ifndef CONCUR_CORE_RESULT_H_
#define CONCUR_CORE_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/fields.h"

namespace concur {

enum class ArtifactKind : uint8_t {
  kSystem = 0,       // left in {model} by training: a file, or a tar of a directory
  kPredictions = 1,  // {predictions}, JSON
  kExamples = 2,     // per-example scores, JSON lines {"id", "exact_match", "f1"}
  kLog = 3,          // standard output and error, interleaved, bounded
  kMetrics = 4,      // {metrics}, JSON
  kOutputs = 5,      // {output}, a tar of the directory
};
inline constexpr int kArtifactKinds = 6;
// "system", "predictions", "examples", "log", "metrics", "outputs".
absl::string_view ArtifactKindName(ArtifactKind kind);

struct ArtifactRef {
  ArtifactKind kind = ArtifactKind::kSystem;
  Digest digest;
  int64_t bytes = 0;

  friend bool operator==(const ArtifactRef&, const ArtifactRef&) = default;
};

// Files left in the directory $CONCUR_CHECKPOINT by an attempt without success, as one tar, for the
// job's next attempt. It belongs to the job, not to a result, and goes when the job ends for good.
struct Checkpoint {
  Digest digest;
  int64_t bytes = 0;
  uint32_t attempt = 0;  // that left it

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// A confidence interval; both ends belong to it, and low <= high.
struct MetricInterval {
  double low = 0;
  double high = 0;

  friend bool operator==(const MetricInterval&, const MetricInterval&) = default;
};

// A metric of a system on a test set, or on a part of it. EM and F1 are in percent.
struct Metric {
  std::string name;
  double value = 0;      // finite
  int64_t examples = 0;  // number of examples it is the mean of; 0 when unknown
  // Interval of the value, at 95 % confidence, since the examples are a sample; unset when unknown.
  std::optional<MetricInterval> interval = {};
  std::string part = {};  // "": the whole test set

  friend bool operator==(const Metric&, const Metric&) = default;
};

// The order of a result's metrics: those of the whole test set, then part by part; by name.
bool ComesBefore(const Metric& a, const Metric& b);

// Beside exact_match and f1: how many questions have no prediction, where some have none.
inline constexpr char kUnansweredMetric[] = "unanswered";

// Why an attempt did not succeed. Names are stable: they stand in the database and in JSON.
enum class FailureClass : uint8_t {
  kNone = 0,
  kFailed = 1,         // exit code other than 0, 75, 78, or a signal of its own
  kOutOfMemory = 2,    // "oom": killed for memory
  kTimeout = 3,        // ran past its time-out
  kLost = 4,           // the worker's lease ran out, or a new incarnation does not know it
  kPreempted = 5,      // the worker was asked to hand it back
  kSpawn = 6,          // the program could not be started
  kInvalidOutput = 7,  // predictions or metrics missing, malformed or not finite
  kConfig = 8,         // exit code 78, or inputs that can never work: not retried
  kTemporary = 9,      // exit code 75: try again later
  kWorker = 10,        // the worker could not do its part (disk full, artifact missing)
  kPoison = 11,        // its workers died while it ran, the last one with nothing else: not retried
  kService = 12,       // the service that it asked ended, or could not be started
};
inline constexpr int kFailureClasses = 13;
// "none", "failed", "oom", "timeout", "lost", "preempted", "spawn", "invalid-output", "config",
// "temporary", "worker", "poison", "service".
absl::string_view FailureClassName(FailureClass failure);

// Every form of a result (columns, protobuf, JSON) lists these fields, in this order: VisitFields.
struct JobResult {
  bool succeeded = false;
  FailureClass failure = FailureClass::kNone;  // kNone exactly when succeeded
  int32_t exit_code = 0;                       // 128 + signal when killed by one; -1 unknown
  std::string message;                         // for people; on success a note, or ""
  absl::Time start_time = absl::UnixEpoch();
  absl::Duration run_time;
  int64_t memory_bytes_peak = 0;
  std::vector<Metric> metrics;         // ordered by name
  std::vector<ArtifactRef> artifacts;  // ordered by kind, each kind at most once
  uint32_t resumed_from = 0;           // the attempt whose checkpoint it went on from; 0: none

  friend bool operator==(const JobResult&, const JobResult&) = default;
};

// Calls visit(name, field) for each field of `result`, a JobResult, const or not. What is made from
// it needs no change for a new field; what is not, tests/testing/full_result.h compares with it.
template <typename Result, typename Visitor>
void VisitFields(Result& result, Visitor&& visit) {
  // Does not compile while a field is missing.
  auto& [succeeded, failure, exit_code, message, start_time, run_time, memory_bytes_peak, metrics,
         artifacts, resumed_from] = result;
  visit("succeeded", succeeded);
  visit("failure", failure);
  visit("exit_code", exit_code);
  visit("message", message);
  visit("start_time", start_time);
  visit("run_time", run_time);
  visit("memory_bytes_peak", memory_bytes_peak);
  visit("metrics", metrics);
  visit("artifacts", artifacts);
  visit("resumed_from", resumed_from);
}

// The artifact of this kind, or null.
const ArtifactRef* FindArtifact(const JobResult& result, ArtifactKind kind);

// The metric of this name on the whole test set, or null; null of no result.
const Metric* FindMetric(const JobResult* result, absl::string_view name);

// Limits on one result.
inline constexpr size_t kMetricsMax = 100;  // those of the whole test set
inline constexpr size_t kPartsMax = 1'000;
inline constexpr size_t kPartMetricsMax = 2'000;  // all parts together
// All results of a sweep, which the coordinator holds in memory: about 150 bytes each.
inline constexpr size_t kPartMetricsOfSweepMax = 1'000'000;
inline constexpr size_t kMessageBytesMax = 4096;
inline constexpr double kMetricAbsMax = 1e15;
inline constexpr int64_t kExamplesMax = int64_t{1} << 40;  // limits a metric, a part of a mixture
inline constexpr int64_t kArtifactBytesMax = int64_t{1} << 50;  // a pebibyte
inline constexpr int32_t kExitCodeMax = 65'535;

// Names without control characters; a value that is finite and at most kMetricAbsMax either way.
absl::Status CheckMetric(const FieldPath& path, const Metric& metric);
// At most kMetricsMax of the whole test set, kPartMetricsMax of kPartsMax parts.
// REQUIRES: `metrics` are in order.
absl::Status CheckMetricCounts(const FieldPath& path, const std::vector<Metric>& metrics);
size_t PartMetricsOf(const JobResult& result);
// InvalidArgument, naming the field within `path`, when a value is beyond its limit, success and
// failure class contradict each other, or metrics or artifacts are not in order or stand twice.
absl::Status ValidateJobResult(const JobResult& result, const FieldPath& path);
absl::Status ValidateCheckpoint(const Checkpoint& checkpoint, const FieldPath& path);

}  // namespace concur

#endif  // CONCUR_CORE_RESULT_H_
