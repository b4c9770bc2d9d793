// SPDX-License-Identifier: Apache-2.0
#include "core/state/job_table.h"

#include <utility>

#include "base/check.h"

namespace concur {

JobTable::JobTable(uint32_t jobs) : jobs_(jobs) {
  counts_[static_cast<size_t>(JobState::kReady)] = jobs;
}

uint32_t JobTable::unfinished() const {
  uint32_t unfinished = 0;
  for (int state = 0; state < kJobStates; ++state) {
    unfinished +=
        IsTerminal(static_cast<JobState>(state)) ? 0 : counts_[static_cast<size_t>(state)];
  }
  return unfinished;
}

void JobTable::SetState(uint32_t job, JobState state) {
  --counts_[static_cast<size_t>(jobs_[job].state_)];
  jobs_[job].state_ = state;
  ++counts_[static_cast<size_t>(state)];
}

const JobTable::Result* JobTable::Find(uint32_t job) const {
  return jobs_[job].has_result() ? &results_[jobs_[job].result_] : nullptr;
}

const JobResult* JobTable::ResultOf(uint32_t job) const {
  return jobs_[job].has_result() ? &results_[jobs_[job].result_].result : nullptr;
}

void JobTable::PutResult(uint32_t job, JobResult result, uint32_t holder) {
  CONCUR_CHECK(!jobs_[job].has_result());
  uint32_t index;
  if (free_results_.empty()) {
    index = static_cast<uint32_t>(results_.size());
    results_.emplace_back();
  } else {
    index = free_results_.back();
    free_results_.pop_back();
  }
  part_metrics_ += PartMetricsOf(result);
  results_[index] = Result{std::move(result), holder, JobId{}};
  jobs_[job].result_ = index;
}

void JobTable::DropResult(uint32_t job) {
  Job& record = jobs_[job];
  CONCUR_CHECK(record.has_result());
  if (record.reused_) {
    record.reused_ = false;
    --reused_;
  }
  part_metrics_ -= PartMetricsOf(results_[record.result_].result);
  results_[record.result_] = Result{};
  free_results_.push_back(record.result_);
  record.result_ = Job::kNoResult;
}

bool JobTable::FreeResult() {
  if (results_.empty()) {
    return false;
  }
  results_.pop_back();
  return true;
}

void JobTable::MarkReused(uint32_t job, JobId source) {
  Job& record = jobs_[job];
  CONCUR_CHECK(record.has_result() && !record.reused_);
  record.reused_ = true;
  ++reused_;
  results_[record.result_].source = source;
}

void JobTable::SetHolder(uint32_t job, uint32_t holder) {
  CONCUR_CHECK(jobs_[job].has_result());
  results_[jobs_[job].result_].holder = holder;
}

void JobTable::CheckInvariants() const {
  StateCounts counts{};
  uint32_t reused = 0;
  size_t part_metrics = 0;
  std::vector<bool> used(results_.size());
  for (const Job& job : jobs_) {
    ++counts[static_cast<size_t>(job.state_)];
    reused += job.reused_ ? 1 : 0;
    CONCUR_CHECK(!job.reused_ || job.has_result());
    if (job.has_result()) {
      CONCUR_CHECK(!used[job.result_]);
      used[job.result_] = true;
      part_metrics += PartMetricsOf(results_[job.result_].result);
    }
    // A job that has ended by itself has a result, which says how.
    const bool succeeded = job.state_ == JobState::kSucceeded;
    CONCUR_CHECK(job.has_result() == (succeeded || job.state_ == JobState::kFailed));
    CONCUR_CHECK(!job.has_result() || results_[job.result_].result.succeeded == succeeded);
    CONCUR_CHECK(!succeeded || job.settled);
    CONCUR_CHECK(job.state_ != JobState::kRunning || (job.attempt > 0 && !job.settled));
  }
  for (const uint32_t index : free_results_) {
    CONCUR_CHECK(!used[index]);
    used[index] = true;
  }
  for (const bool is_used : used) {
    CONCUR_CHECK(is_used);
  }
  CONCUR_CHECK(counts == counts_);
  CONCUR_CHECK(reused == reused_);
  CONCUR_CHECK(part_metrics == part_metrics_);
}

}  // namespace concur
