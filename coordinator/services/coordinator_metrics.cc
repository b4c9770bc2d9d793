// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/coordinator_metrics.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "coordinator/ship/ship_status.h"

namespace concur {
namespace {

// The least time between two requests for totals, for all scrapes together.
constexpr absl::Duration kTotalsAgeMax = absl::Seconds(1);
// Time for which a scrape waits for the engine; Prometheus gives up after 10 s.
constexpr absl::Duration kScrapeWait = absl::Seconds(2);
// An engine that answered this recently is ready: a long commit is not an outage.
constexpr absl::Duration kReadyAgeMax = absl::Seconds(10);

std::array<prometheus::Gauge*, 3> ResourceGauges(MetricSet& metrics, const std::string& what,
                                                 const std::string& about) {
  return {&metrics.Gauge(absl::StrCat("concur_cpus_", what), absl::StrCat("CPUs ", about)),
          &metrics.Gauge(absl::StrCat("concur_memory_", what, "_bytes"),
                         absl::StrCat("Memory ", about)),
          &metrics.Gauge(absl::StrCat("concur_gpus_", what), absl::StrCat("GPUs ", about))};
}

void Show(const Resources& resources, const std::array<prometheus::Gauge*, 3>& gauges) {
  gauges[0]->Set(static_cast<double>(resources.cpu_millis) / 1000);
  gauges[1]->Set(static_cast<double>(resources.memory_bytes));
  gauges[2]->Set(resources.GpuAmount());
}

}  // namespace

struct TotalsCache::Shared {
  Mutex mutex;
  CondVar answered;
  bool asking ABSL_GUARDED_BY(mutex) = false;
  std::optional<Totals> totals ABSL_GUARDED_BY(mutex);
  absl::Time time ABSL_GUARDED_BY(mutex) = absl::InfinitePast();  // time of `totals`
  absl::Status status ABSL_GUARDED_BY(mutex);                     // the last answer's
};

TotalsCache::TotalsCache(Engine& engine, Clock& clock)
    : engine_(engine), clock_(clock), shared_(std::make_shared<Shared>()) {}

TotalsCache::Answer TotalsCache::Get(absl::Duration age_max, absl::Duration timeout) {
  bool ask = false;
  {
    MutexLock lock(shared_->mutex);
    if (clock_.Now() - shared_->time > age_max && !shared_->asking) {
      shared_->asking = true;
      ask = true;
    }
  }
  if (ask) {
    Ask();
  }
  const absl::Time deadline = absl::Now() + timeout;  // real time: no simulated clock ends a wait
  MutexLock lock(shared_->mutex);
  while (shared_->asking && clock_.Now() - shared_->time > age_max && absl::Now() < deadline) {
    shared_->answered.WaitWithTimeout(shared_->mutex, deadline - absl::Now());
  }
  Answer answer;
  answer.totals = shared_->totals;
  answer.age = answer.totals.has_value() ? clock_.Now() - shared_->time : absl::InfiniteDuration();
  if (answer.age > age_max) {
    answer.status = shared_->asking
                        ? absl::DeadlineExceededError(absl::StrCat(
                              "the engine did not answer within ", absl::FormatDuration(timeout),
                              ": it is busy, or the "
                              "disk with the data directory hangs"))
                        : shared_->status;
  }
  return answer;
}

void TotalsCache::Ask() {
  const std::shared_ptr<Shared> shared = shared_;
  Clock& clock = clock_;
  engine_.Call<Totals>([](Scheduler& scheduler) { return scheduler.views().CountAll(); },
                       [shared, &clock](absl::StatusOr<Totals> totals) {
                         MutexLock lock(shared->mutex);
                         shared->asking = false;
                         shared->status = totals.status();
                         if (totals.ok()) {
                           shared->totals = *totals;
                           shared->time = clock.Now();
                         }
                         shared->answered.NotifyAll();
                       });
}

CoordinatorMetrics::CoordinatorMetrics(MetricSet& metrics, Engine& engine, Clock& clock,
                                       std::string data_directory)
    : metrics_(metrics),
      clock_(clock),
      totals_(engine, clock),
      data_directory_(std::move(data_directory)),
      usage_(metrics, engine.board()),
      turns_(metrics.Counter("concur_engine_turns_total", "Turns of the engine")),
      requests_(metrics.Counter("concur_engine_requests_total",
                                "Requests that the engine dealt with, many in one turn")),
      turn_seconds_(metrics.Histogram("concur_engine_work_seconds",
                                      "A turn's work, without its commit", ShortSpans())),
      commit_seconds_(metrics.Histogram("concur_engine_commit_seconds",
                                        "A turn's commit, synced to disk", ShortSpans())),
      started_(metrics.Counter("concur_attempts_started_total", "Attempts given to workers")),
      reused_(metrics.Counter("concur_jobs_reused_total",
                              "Jobs that took a finished job's result instead of running")),
      run_seconds_(metrics.Histogram("concur_attempt_run_seconds",
                                     "How long attempts ran that succeeded", LongSpans())),
      age_(metrics.Gauge("concur_totals_age_seconds",
                         "Age of concur_jobs, concur_sweeps, concur_workers and the resources: "
                         "more than a few seconds when the engine does not answer")),
      free_bytes_(metrics.Gauge("concur_data_free_bytes",
                                "Free space of the disk with the data directory")),
      job_memory_(metrics.Gauge("concur_job_memory_bytes",
                                "Memory that the jobs of all sweeps may come to take")),
      job_memory_max_(metrics.Gauge("concur_job_memory_max_bytes",
                                    "Limit of concur_job_memory_bytes: limits.job_memory_max")),
      refused_(
          metrics.Counter("concur_results_refused_total", "Results that came too late to count")),
      capacity_(ResourceGauges(metrics, "capacity", "of the workers that are there")),
      used_(ResourceGauges(metrics, "used", "that running jobs hold")) {
  for (int i = 0; i < kFailureClasses; ++i) {
    const auto failure = static_cast<FailureClass>(i);
    ended_[static_cast<size_t>(i)] = &metrics.Counter(
        "concur_attempts_ended_total", "Attempts that ended, by what came of them",
        {{"outcome",
          failure == FailureClass::kNone ? "succeeded" : std::string(FailureClassName(failure))}});
  }
  for (int i = 0; i < kJobStates; ++i) {
    jobs_[static_cast<size_t>(i)] =
        &metrics.Gauge("concur_jobs", "Jobs of all sweeps that are kept",
                       {{"state", std::string(JobStateName(static_cast<JobState>(i)))}});
  }
  for (int i = 0; i < kSweepStates; ++i) {
    sweeps_[static_cast<size_t>(i)] =
        &metrics.Gauge("concur_sweeps", "Sweeps that are kept",
                       {{"state", std::string(SweepStateName(static_cast<SweepState>(i)))}});
  }
  const std::array<const char*, 3> states = {"live", "draining", "lost"};
  for (size_t i = 0; i < states.size(); ++i) {
    workers_[i] = &metrics.Gauge("concur_workers", "Workers, lost ones until they are forgotten",
                                 {{"state", states[i]}});
  }
}

void CoordinatorMetrics::OnTurn(const Turn& turn, const Effects& effects) {
  turns_.Increment();
  requests_.Increment(static_cast<double>(turn.requests));
  turn_seconds_.Observe(absl::ToDoubleSeconds(turn.work));
  if (turn.committed) {
    commit_seconds_.Observe(absl::ToDoubleSeconds(turn.commit));
  }
  absl::flat_hash_set<JobId> succeeded;  // by running
  for (const JobEvent& event : effects.events) {
    if (event.state == JobState::kRunning) {
      started_.Increment();
    } else if (event.state == JobState::kSucceeded && event.reused) {
      reused_.Increment();
    } else if (event.state == JobState::kSucceeded) {
      succeeded.insert(event.id);
      ended_[static_cast<size_t>(FailureClass::kNone)]->Increment();
    }
  }
  for (const ResultRow& row : effects.batch.put_results) {
    if (succeeded.contains(row.id)) {
      run_seconds_.Observe(absl::ToDoubleSeconds(row.result.run_time));
      usage_.Add(row.id, row.result.run_time);
    }
  }
  for (const AttemptRow& row : effects.batch.put_attempts) {
    if (row.id.IsService()) {
      usage_.AddService({row.id, row.attempt}, row.result.run_time,
                        row.result.failure != FailureClass::kNone);
      continue;
    }
    ended_[static_cast<size_t>(row.result.failure)]->Increment();
    usage_.Add(row.id, row.result.run_time);
  }
}

void CoordinatorMetrics::ShowTotals(const Totals& totals) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    jobs_[i]->Set(static_cast<double>(totals.jobs[i]));
  }
  for (size_t i = 0; i < sweeps_.size(); ++i) {
    sweeps_[i]->Set(static_cast<double>(totals.sweeps[i]));
  }
  workers_[0]->Set(static_cast<double>(totals.workers_live));
  workers_[1]->Set(static_cast<double>(totals.workers_draining));
  workers_[2]->Set(static_cast<double>(totals.workers_lost));
  job_memory_.Set(static_cast<double>(totals.job_memory));
  job_memory_max_.Set(static_cast<double>(totals.job_memory_max));
  Show(totals.capacity, capacity_);
  Show(totals.used, used_);
  const double more = static_cast<double>(totals.refused_results) - refused_.Value();
  refused_.Increment(std::max(more, 0.0));
}

void CoordinatorMetrics::ShowDisk() {
  struct statvfs disk {};
  if (statvfs(data_directory_.c_str(), &disk) == 0) {
    free_bytes_.Set(static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize));
  }
}

void CoordinatorMetrics::ShowShipping() {
  const std::optional<ShipStatus> status = ReadShipStatus(data_directory_);
  if (!status.has_value() && !ships_) {
    return;
  }
  ships_ = true;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  metrics_
      .Gauge("concur_ship_behind_seconds",
             "What was acknowledged in so many last seconds may not be shipped yet")
      .Set(status.has_value()
               ? absl::ToDoubleSeconds(std::max(clock_.Now() - status->time, absl::ZeroDuration()))
               : kNone);
  metrics_
      .Gauge("concur_ship_behind_bytes",
             "Bytes of the database's log and of artifacts that are known and not shipped yet")
      .Set(status.has_value() ? static_cast<double>(status->bytes_behind) : kNone);
}

std::string CoordinatorMetrics::Text() {
  const TotalsCache::Answer answer = totals_.Get(kTotalsAgeMax, kScrapeWait);
  if (answer.totals.has_value()) {
    MutexLock lock(show_);
    ShowTotals(*answer.totals);
  }
  age_.Set(absl::ToDoubleSeconds(answer.age));
  ShowDisk();
  ShowShipping();
  return metrics_.Text();
}

absl::Status CoordinatorMetrics::Ready() {
  const TotalsCache::Answer answer = totals_.Get(kTotalsAgeMax, kScrapeWait);
  return answer.age <= kReadyAgeMax ? absl::OkStatus() : answer.status;
}

}  // namespace concur
