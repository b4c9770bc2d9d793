// SPDX-License-Identifier: Apache-2.0
// The worker's metrics: attempts that ended here, and how it stands with the coordinator.
//
// OnEnded and Show belong to the worker's loop, Ready is thread-safe. All of them store numbers
// that a scrape reads; the loop never waits for one.
#ifndef CONCUR_WORKER_AGENT_WORKER_METRICS_H_
#define CONCUR_WORKER_AGENT_WORKER_METRICS_H_

#include <array>
#include <atomic>

#include "absl/status/status.h"
#include "base/metrics/metric_set.h"
#include "core/resources.h"
#include "core/result.h"
#include "worker/agent/agent.h"

namespace concur::worker {

class WorkerMetrics {
 public:
  // `metrics` outlives it.
  WorkerMetrics(MetricSet& metrics, const Resources& capacity);

  void OnEnded(const JobResult& result);
  // After a step of the agent.
  void Show(const Agent& agent);
  // Unavailable while the coordinator does not answer.
  absl::Status Ready() const;

 private:
  std::array<prometheus::Counter*, kFailureClasses> ended_{};  // none: succeeded
  prometheus::Histogram& run_seconds_;
  prometheus::Gauge& running_;
  prometheus::Gauge& unsent_;
  prometheus::Gauge& connected_gauge_;
  prometheus::Gauge& draining_;
  prometheus::Counter& syncs_;
  prometheus::Counter& failed_syncs_;
  std::atomic<bool> connected_ = false;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_AGENT_WORKER_METRICS_H_
