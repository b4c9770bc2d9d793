// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/result_book.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/state/sweep_record.h"

namespace concur {

bool IsOutside(FailureClass failure) {
  return failure == FailureClass::kLost || failure == FailureClass::kPreempted ||
         failure == FailureClass::kWorker || failure == FailureClass::kTemporary ||
         failure == FailureClass::kService;
}

namespace {

// Takes the metrics of parts from a result whose sweep has no room for them, and says so.
void LimitParts(const SweepRecord& sweep, JobResult& result) {
  const size_t more = PartMetricsOf(result);
  if (more == 0 || sweep.jobs.part_metrics() + more <= kPartMetricsOfSweepMax) {
    return;
  }
  std::erase_if(result.metrics, [](const Metric& metric) { return !metric.part.empty(); });
  result.message =
      absl::StrCat("its scores of parts are not kept: a sweep has at most ", kPartMetricsOfSweepMax,
                   " of them; write fewer, or split the sweep");
}

// Calls visit(sweep, job) for every job that is in the index.
template <typename Visit>
void ForEachSuccess(SweepBook& book, Visit visit) {
  const auto visit_all = [&](const SweepBook::Sweeps& sweeps) {
    for (const auto& [id, sweep] : sweeps) {
      for (uint32_t job = sweep->next_erased; job < sweep->jobs.size(); ++job) {
        if (sweep->jobs[job].state() == JobState::kSucceeded) {
          visit(*sweep, job);
        }
      }
    }
  };
  visit_all(book.all());
  visit_all(book.erased());
}

}  // namespace

void ResultBook::Put(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  Drop(sweep, job);
  LimitParts(sweep, result);
  sweep.jobs.PutResult(job, std::move(result), holder);
  book_.owners().AddBytes(sweep.owner, sweep.StoredBytesOf(job));
  turn_.TouchResult(sweep.IdOf(job));
}

void ResultBook::Drop(SweepRecord& sweep, uint32_t job) {
  if (sweep.jobs[job].has_result()) {
    book_.owners().AddBytes(sweep.owner, -sweep.StoredBytesOf(job));
    sweep.jobs.DropResult(job);
    turn_.TouchResult(sweep.IdOf(job));
  }
}

void ResultBook::PutReused(SweepRecord& sweep, uint32_t job, JobId source) {
  JobTable::Result copy = *book_.SweepOf(source).jobs.Find(source.index);
  Put(sweep, job, std::move(copy.result), copy.holder);
  book_.owners().AddBytes(sweep.owner, -sweep.StoredBytesOf(job));  // it counts where it was made
  sweep.jobs.MarkReused(job, source);
}

void ResultBook::DropSteps(SweepRecord& sweep, uint32_t job) {
  if (sweep.steps.erase(job) > 0) {
    turn_.batch().delete_steps.emplace_back(sweep.IdOf(job), sweep.next_arrival);
  }
}

// The next attempt begins where one without success left off; one that left nothing changes
// nothing. An attempt that went on from a checkpoint and failed by itself may have found it
// damaged: the next one begins anew, unless it came further and left a new one. The last attempt
// of a train job begins anew all the same, except after a time-out: its checkpoint may be what
// makes it fail. An eval job's has the answers so far, and an interface that refuses one is no
// fault of it.
void ResultBook::TakeCheckpoint(SweepRecord& sweep, uint32_t job, const FinishedAttempt& finished) {
  const JobResult& result = finished.result;
  if (result.succeeded) {
    return;
  }
  const auto before = sweep.checkpoints.find(job);
  const bool is_new = finished.checkpoint && (before == sweep.checkpoints.end() ||
                                              before->second.digest != finished.checkpoint->digest);
  const bool next_is_last =
      sweep.expansion->Locate(job).is_train &&
      sweep.jobs[job].failures + 2u >= sweep.expansion->spec().retry.failures_max;
  if (result.resumed_from > 0 && !IsOutside(result.failure) &&
      (!is_new || (next_is_last && result.failure != FailureClass::kTimeout))) {
    DropCheckpoint(sweep, job);
  } else if (is_new) {
    Checkpoint left = *finished.checkpoint;
    left.attempt = finished.id.attempt.number;
    PutCheckpoint(sweep, job, left);
  }
}

void ResultBook::PutCheckpoint(SweepRecord& sweep, uint32_t job, const Checkpoint& checkpoint) {
  DropCheckpoint(sweep, job);
  sweep.checkpoints.emplace(job, checkpoint);
  book_.owners().AddCheckpointBytes(sweep.owner, checkpoint.bytes);
  turn_.Touch(sweep.IdOf(job));
  turn_.AnnounceSweep(sweep.row.id);  // its owner uses more
}

void ResultBook::DropCheckpoint(SweepRecord& sweep, uint32_t job) {
  if (const auto it = sweep.checkpoints.find(job); it != sweep.checkpoints.end()) {
    book_.owners().AddCheckpointBytes(sweep.owner, -it->second.bytes);
    sweep.checkpoints.erase(it);
    turn_.Touch(sweep.IdOf(job));
    turn_.AnnounceSweep(sweep.row.id);
  }
}

void ResultBook::AddSuccess(SweepRecord& sweep, uint32_t job, const Digest& key) {
  if (sweep.TaughtDuration(job)) {
    sweep.spent.AddFinished(job, sweep.SpentKindOf(job));
    places_.durations.Add(sweep.GroupOf(job), sweep.jobs.ResultOf(job)->run_time,
                          [this](Durations::Group group, Durations::Rank rank) {
                            places_.ready.SetRank(group, rank);
                          });
  }
  AddToIndex(sweep, job, key);
}

void ResultBook::RemoveSuccess(SweepRecord& sweep, uint32_t job) {
  if (sweep.TaughtDuration(job)) {
    sweep.spent.RemoveFinished(job, sweep.SpentKindOf(job));
    places_.durations.Remove(sweep.GroupOf(job), sweep.jobs.ResultOf(job)->run_time,
                             [this](Durations::Group group, Durations::Rank rank) {
                               places_.ready.SetRank(group, rank);
                             });
  }
  RemoveFromIndex(sweep, job);
}

std::optional<JobId> ResultBook::SourceOf(const Digest& key) const {
  std::optional<JobId> best;
  for (const JobId& id : places_.reuse.AllOf(key)) {
    if (book_.HasJob(id) && (!best || IsBetterSource(id, *best))) {
      best = id;
    }
  }
  return best;
}

// REQUIRES: the job has succeeded and is not in the index.
void ResultBook::AddToIndex(const SweepRecord& sweep, uint32_t job, const Digest& key) {
  places_.reuse.AddFinished(key, sweep.BlockKeyOf(job), sweep.IdOf(job),
                            [this](JobId a, JobId b) { return IsBetterSource(a, b); });
}

// REQUIRES: the job is in the index, and is as it was when it was added.
void ResultBook::RemoveFromIndex(const SweepRecord& sweep, uint32_t job) {
  places_.reuse.RemoveFinished(sweep.keys.KeyOf(job), sweep.BlockKeyOf(job), sweep.IdOf(job),
                               [this](JobId a, JobId b) { return IsBetterSource(a, b); });
}

// One that still has its system, since only such a one serves what reads it; of these the newest.
bool ResultBook::IsBetterSource(JobId job, JobId other) const {
  const bool has_system = book_.SweepOf(job).HasSystem(job.index);
  return has_system != book_.SweepOf(other).HasSystem(other.index)
             ? has_system
             : book_.SweepOf(job).jobs.ResultOf(job.index)->start_time >
                   book_.SweepOf(other).jobs.ResultOf(other.index)->start_time;
}

void ResultBook::MarkSystemsCollected(const std::vector<JobId>& train_jobs) {
  for (const JobId& id : train_jobs) {
    if (!book_.HasJob(id)) {
      continue;
    }
    SweepRecord& sweep = book_.SweepOf(id);
    JobTable::Job& record = sweep.jobs[id.index];
    if (record.state() != JobState::kSucceeded || record.system_collected) {
      continue;
    }
    // Another job's result with the same key may still have its system: let it stand instead.
    RemoveFromIndex(sweep, id.index);
    book_.owners().AddBytes(sweep.owner, -sweep.StoredBytesOf(id.index));
    record.system_collected = true;
    book_.owners().AddBytes(sweep.owner, sweep.StoredBytesOf(id.index));
    AddToIndex(sweep, id.index, sweep.keys.KeyOf(id.index));
    turn_.Touch(id);
    turn_.AnnounceSweep(id.sweep);  // its owner uses less
  }
}

void ResultBook::SetExpectedDurations(
    absl::FunctionRef<absl::Duration(absl::string_view, absl::string_view, bool)> expected) {
  for (Durations::Group group = 0; group < places_.durations.size(); ++group) {
    places_.durations.SetPrior(
        group,
        expected(places_.durations.approach(group), places_.durations.benchmark(group),
                 places_.durations.is_train(group)),
        [this](Durations::Group changed, Durations::Rank rank) {
          places_.ready.SetRank(changed, rank);
        });
  }
}

void ResultBook::CheckInvariants() const {
  places_.reuse.CheckInvariants(
      [this](JobId a, JobId b) { return IsBetterSource(a, b); },
      [this](JobId id) { return book_.SweepOf(id).BlockKeyOf(id.index); });
  const auto key_of = [this](JobId id) { return book_.SweepOf(id).keys.KeyOf(id.index); };
  places_.reuse.ForEachFollower([&](JobId follower, JobId leader) {
    CONCUR_CHECK(book_.JobOf(follower).state() == JobState::kBlocked);
    CONCUR_CHECK(places_.running.Find(leader) != nullptr);
    CONCUR_CHECK(key_of(follower) == key_of(leader));
  });
  places_.reuse.ForEachRunning([&](const Digest& key, JobId id) {
    const RunningJobs::Lease* lease = places_.running.Find(id);
    CONCUR_CHECK(lease != nullptr && lease->key == key && key_of(id) == key);
  });
  places_.reuse.ForEachFinished([&](const Digest& key, JobId id) {
    CONCUR_CHECK(book_.JobOf(id).state() == JobState::kSucceeded && key_of(id) == key);
  });
  size_t succeeded = 0;
  ForEachSuccess(book_, [&](const SweepRecord&, uint32_t) { ++succeeded; });
  CONCUR_CHECK(places_.reuse.finished() == succeeded);
  CheckDurations();
}

void ResultBook::CheckDurations() const {
  std::map<Durations::Group, std::pair<int64_t, uint64_t>> totals;
  ForEachSuccess(book_, [&](const SweepRecord& sweep, uint32_t job) {
    if (sweep.TaughtDuration(job)) {
      auto& [micros, count] = totals[sweep.GroupOf(job)];
      micros += Durations::MicrosOf(sweep.jobs.ResultOf(job)->run_time);
      ++count;
    }
  });
  for (Durations::Group group = 0; group < places_.durations.size(); ++group) {
    CONCUR_CHECK(places_.durations.TotalOf(group) == totals[group]);
  }
}

}  // namespace concur
