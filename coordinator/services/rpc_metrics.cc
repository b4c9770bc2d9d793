// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/rpc_metrics.h"

#include <utility>

namespace concur {

MethodMetrics::MethodMetrics(MetricSet& metrics, std::string name)
    : metrics_(metrics),
      name_(std::move(name)),
      started_(metrics.Counter("grpc_server_call_started_total", "Calls that have begun",
                               {{"grpc_method", name_}})) {}

void MethodMetrics::End(absl::StatusCode code, absl::Duration duration) {
  const size_t index = static_cast<size_t>(code) < kStatusCodes
                           ? static_cast<size_t>(code)
                           : static_cast<size_t>(absl::StatusCode::kUnknown);
  prometheus::Histogram* histogram = durations_[index].load(std::memory_order_acquire);
  if (histogram == nullptr) {
    histogram = &metrics_.Histogram(
        "grpc_server_call_duration_seconds", "How long calls took, whole streams included",
        RpcSpans(),
        {{"grpc_method", name_},
         {"grpc_status", absl::StatusCodeToString(static_cast<absl::StatusCode>(index))}});
    durations_[index].store(histogram, std::memory_order_release);
  }
  histogram->Observe(absl::ToDoubleSeconds(duration));
}

}  // namespace concur
