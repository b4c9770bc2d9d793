// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/worker_metrics.h"

#include <algorithm>
#include <string>

namespace concur::worker {
namespace {

void Raise(prometheus::Counter& counter, uint64_t to) {
  counter.Increment(std::max(static_cast<double>(to) - counter.Value(), 0.0));
}

}  // namespace

WorkerMetrics::WorkerMetrics(MetricSet& metrics, const Resources& capacity)
    : run_seconds_(metrics.Histogram("concur_worker_attempt_run_seconds",
                                     "How long attempts ran here, however they ended",
                                     LongSpans())),
      running_(metrics.Gauge("concur_worker_attempts_running", "Attempts that run here")),
      unsent_(metrics.Gauge("concur_worker_results_unsent",
                            "Results that the coordinator has not yet taken for good")),
      connected_gauge_(metrics.Gauge("concur_worker_connected",
                                     "1 while the coordinator answers, 0 while it does not")),
      draining_(metrics.Gauge("concur_worker_draining", "1 while it takes nothing new")),
      syncs_(metrics.Counter("concur_worker_syncs_total", "Calls to the coordinator")),
      failed_syncs_(
          metrics.Counter("concur_worker_syncs_failed_total", "Calls that were not answered")) {
  for (int i = 0; i < kFailureClasses; ++i) {
    const auto failure = static_cast<FailureClass>(i);
    ended_[static_cast<size_t>(i)] = &metrics.Counter(
        "concur_worker_attempts_ended_total", "Attempts that ended here, by what came of them",
        {{"outcome",
          failure == FailureClass::kNone ? "succeeded" : std::string(FailureClassName(failure))}});
  }
  metrics.Gauge("concur_worker_cpus_capacity", "CPUs that jobs may use")
      .Set(static_cast<double>(capacity.cpu_millis) / 1000);
  metrics.Gauge("concur_worker_memory_capacity_bytes", "Memory that jobs may use")
      .Set(static_cast<double>(capacity.memory_bytes));
  metrics.Gauge("concur_worker_gpus_capacity", "GPUs that jobs may use").Set(capacity.gpus);
}

void WorkerMetrics::OnEnded(const JobResult& result) {
  ended_[static_cast<size_t>(result.failure)]->Increment();
  run_seconds_.Observe(absl::ToDoubleSeconds(result.run_time));
}

void WorkerMetrics::Show(const Agent& agent) {
  running_.Set(static_cast<double>(agent.running()));
  unsent_.Set(static_cast<double>(agent.finished()));
  connected_gauge_.Set(agent.connected() ? 1 : 0);
  draining_.Set(agent.draining() ? 1 : 0);
  Raise(syncs_, agent.sequence());
  Raise(failed_syncs_, agent.failed_calls());
  connected_ = agent.connected();
}

absl::Status WorkerMetrics::Ready() const {
  return connected_ ? absl::OkStatus()
                    : absl::UnavailableError("the coordinator does not answer this worker");
}

}  // namespace concur::worker
