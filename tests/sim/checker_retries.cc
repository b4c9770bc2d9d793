// SPDX-License-Identifier: Apache-2.0
// Checks that a retry of a whole sweep, once it is saved, returns every job that it was asked for,
// whatever happens before it has come to its end.
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/checker.h"

namespace concur::sim {

bool Checker::IsBeingRetried(SweepId id) const {
  return retried_.contains(id) || saved_retries_.contains(id);
}

// By the rows of the jobs, and where a retry that is under way has come.
bool Checker::WaitsForRetry(JobId id, const SweepRow& sweep) const {
  const Expansion& expansion = *workload_.sweeps[planned_.at(id.sweep)].expansion;
  const uint64_t place = (uint64_t{expansion.StageOf(id.index)} << 32) + id.index;
  if (sweep.retry && place < sweep.retry->next) {
    return false;
  }
  const auto row = rows_.find(id);
  if (row == rows_.end()) {
    return sweep.retry && sweep.retry->was_canceled;
  }
  const JobState state = row->second.state;
  return state == JobState::kFailed || state == JobState::kCanceled || state == JobState::kSkipped;
}

std::set<JobId> Checker::WaitingForRetry(const SweepRow& sweep) const {
  std::set<JobId> waiting;
  const uint32_t jobs = workload_.sweeps[planned_.at(sweep.id)].expansion->job_count();
  for (uint32_t job = 0; job < jobs; ++job) {
    if (WaitsForRetry({sweep.id, job}, sweep) && !MayBeCanceled({sweep.id, job})) {
      waiting.insert({sweep.id, job});
    }
  }
  return waiting;
}

// After the rows of the jobs.
void Checker::NoteRetries(const Batch& batch) {
  for (const JobRow& row : batch.put_jobs) {
    if (const auto saved = saved_retries_.find(row.id.sweep);
        saved != saved_retries_.end() && !WaitsForRetry(row.id, SweepRow())) {
      saved->second.waiting.erase(row.id);
    }
  }
  for (const SweepRow& row : batch.put_sweeps) {
    const auto applied = whole_retries_.find(row.id);
    const bool is_new = applied != whole_retries_.end();
    if (row.canceled || !planned_.contains(row.id)) {
      saved_retries_.erase(row.id);
      whole_retries_.erase(row.id);  // canceled in the turn that retried it
      continue;
    }
    if (is_new) {
      saved_retries_[row.id] = {applied->second, WaitingForRetry(row)};
      whole_retries_.erase(applied);
    }
    if (const auto saved = saved_retries_.find(row.id);
        saved != saved_retries_.end() && !row.retry) {
      if (!saved->second.waiting.empty()) {
        world_.Fail(absl::StrCat("the retry of sweep ", row.id.ToString(), " has ended, and job ",
                                 saved->second.waiting.begin()->ToString(), " was not returned"));
      }
      saved_retries_.erase(saved);
    }
  }
  for (const auto& [id, collected] : whole_retries_) {
    SweepRow row;
    row.id = id;
    if (planned_.contains(id) && !WaitingForRetry(row).empty()) {
      world_.Fail(absl::StrCat("the retry of sweep ", id.ToString(), " was not saved"));
    }
  }
  for (const SweepId& id : batch.delete_sweeps) {
    saved_retries_.erase(id);
  }
  whole_retries_.clear();
}

void Checker::LoadRetries(const Snapshot& snapshot) {
  std::map<SweepId, SavedRetry> before = std::exchange(saved_retries_, {});
  for (const SweepRow& row : snapshot.sweeps) {
    const auto known = before.find(row.id);
    SavedRetry saved = known == before.end() ? SavedRetry() : known->second;
    if (const auto in_doubt = whole_retries_.find(row.id);
        in_doubt != whole_retries_.end() && row.retry) {
      saved.collected.insert(in_doubt->second.begin(), in_doubt->second.end());
    }
    if (row.retry) {
      saved.waiting = WaitingForRetry(row);
    }
    std::erase_if(saved.waiting,
                  [&](JobId id) { return rows_.contains(id) && !WaitsForRetry(id, SweepRow()); });
    if (!row.canceled && (row.retry || !saved.waiting.empty())) {
      saved_retries_.emplace(row.id, std::move(saved));
    }
  }
  whole_retries_.clear();
}

void Checker::CheckRetriesEnded(const Scheduler& scheduler) {
  for (const auto& [id, saved] : saved_retries_) {
    if (scheduler.views().FindSweep(id) && !saved.waiting.empty()) {
      world_.Fail(absl::StrCat("the retry of sweep ", id.ToString(), " was saved, and job ",
                               saved.waiting.begin()->ToString(), " was never returned"));
      return;
    }
  }
}

}  // namespace concur::sim
