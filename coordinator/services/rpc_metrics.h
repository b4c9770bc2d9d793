// SPDX-License-Identifier: Apache-2.0
// Latency of calls under the names that gRPC's proposal A66 gives them, the same for every method:
// grpc_server_call_started_total and grpc_server_call_duration_seconds, by grpc_method and
// grpc_status.
//
// The duration of a parked Sync, a watch and a followed log is as long as they are meant to last.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_SERVICES_RPC_METRICS_H_
#define CONCUR_COORDINATOR_SERVICES_RPC_METRICS_H_

#include <array>
#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/metrics/metric_set.h"

namespace concur {

// The metrics of one method.
class MethodMetrics {
 public:
  // `metrics` outlives it. `name` is A66's: a path without its leading slash, or "other".
  MethodMetrics(MetricSet& metrics, std::string name);

  void Begin() { started_.Increment(); }
  void End(absl::StatusCode code, absl::Duration duration);

 private:
  static constexpr size_t kStatusCodes = 17;  // OK to UNAUTHENTICATED

  MetricSet& metrics_;
  const std::string name_;
  prometheus::Counter& started_;
  // By status, made when one first occurs: most never do.
  std::array<std::atomic<prometheus::Histogram*>, kStatusCodes> durations_{};
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_RPC_METRICS_H_
