// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/usage_counters.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "core/resources.h"
#include "core/sweep/expansion.h"
#include "core/sweep/served_approach.h"

namespace concur {

UsageCounters::UsageCounters(MetricSet& metrics, const SweepBoard& board, size_t series_max)
    : metrics_(metrics), board_(board), series_max_(series_max) {}

UsageCounters::Series& UsageCounters::SeriesOf(const std::string& owner,
                                               const std::string& approach) {
  std::pair<std::string, std::string> key = {owner, approach};
  if (series_.size() >= series_max_ && !series_.contains(key)) {
    key = {"", ""};
  }
  std::unique_ptr<Series>& series = series_[key];
  if (series == nullptr) {
    const MetricSet::Labels labels = {{"owner", key.first}, {"approach", key.second}};
    series = std::make_unique<Series>(
        Series{metrics_.Counter("concur_usage_run_seconds_total", "Run time of attempts that ended",
                                labels),
               metrics_.Counter("concur_usage_cpu_seconds_total",
                                "Their run time, times the CPUs that they asked for", labels),
               metrics_.Counter("concur_usage_gpu_seconds_total",
                                "Their run time, times the GPUs that they asked for", labels),
               metrics_.Counter("concur_usage_memory_byte_seconds_total",
                                "Their run time, times the memory that they asked for", labels)});
  }
  return *series;
}

void UsageCounters::Add(JobId job, absl::Duration run_time) {
  if (sweep_ == nullptr || sweep_->row.id != job.sweep) {
    sweep_ = board_.FactsOf(job.sweep);
    last_ = nullptr;
  }
  if (sweep_ == nullptr) {
    return;
  }
  const Expansion& expansion = *sweep_->expansion;
  const JobCoordinates place = expansion.Locate(job.ServedJob().index);
  const ApproachSpec& approach = ServedApproach(expansion, job);
  const auto index = static_cast<uint32_t>(&approach - expansion.spec().approaches.data());
  if (last_ == nullptr || approach_ != index) {
    last_ = &SeriesOf(sweep_->row.owner, approach.name);
    approach_ = index;
  }
  const bool is_service = job.IsService() && approach.service;
  const Resources& resources = is_service       ? approach.service->resources
                               : place.is_train ? approach.train_resources
                                                : approach.predict_resources;
  const double seconds = absl::ToDoubleSeconds(std::max(run_time, absl::ZeroDuration()));
  last_->run.Increment(seconds);
  last_->cpu.Increment(seconds * static_cast<double>(resources.cpu_millis) / 1000);
  last_->gpu.Increment(seconds * resources.GpuAmount());
  last_->memory.Increment(seconds * static_cast<double>(resources.memory_bytes));
}

void UsageCounters::AddService(AttemptId id, absl::Duration run_time, bool has_ended) {
  Service& service = services_[id];
  service.has_ended = has_ended;
  if (run_time > service.counted) {
    Add(id.job, run_time - service.counted);
    service.counted = run_time;
  }
  if (services_.size() > series_max_) {
    const auto ended = std::find_if(services_.begin(), services_.end(),
                                    [](const auto& entry) { return entry.second.has_ended; });
    services_.erase(ended == services_.end() ? services_.begin() : ended);
  }
}

}  // namespace concur
