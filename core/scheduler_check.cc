// SPDX-License-Identifier: Apache-2.0
// The proof that the scheduler's parts agree: each part checks itself, and here each is compared
// with the others.
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {

void Scheduler::CheckInvariants() const {
  StateCounts totals{};
  for (const auto& [sweep_id, owned] : sweeps_) {
    CONCUR_CHECK(owned->row.id == sweep_id && sweep_id.number < next_sweep_number_);
    owned->CheckInvariants();
    CONCUR_CHECK(owners_.name(owned->owner) == owned->row.owner);
    for (uint32_t job = 0; job < owned->jobs.size(); ++job) {
      CheckJob(*owned, job);
    }
    if (owned->early_stop) {
      CheckEarlyStop(*owned);
    }
    for (size_t state = 0; state < totals.size(); ++state) {
      totals[state] += owned->jobs.counts()[state];
    }
  }
  const size_t backoff = totals[static_cast<size_t>(JobState::kBackoff)];
  CONCUR_CHECK(totals[static_cast<size_t>(JobState::kReady)] ==
               ready_.size() + suspects_.ready().size());
  suspects_.CheckInvariants();
  suspects_.ForEach([this](JobId id, const Suspects::Deaths&) {
    CONCUR_CHECK(HasJob(id) && !IsTerminal(JobOf(id).state()));
  });
  CONCUR_CHECK(backoff == backoffs_.size());
  backoffs_.CheckInvariants();
  CONCUR_CHECK(totals[static_cast<size_t>(JobState::kRunning)] == leases_.size());
  for (const auto& [request, id] : requests_) {
    const SweepRow& row = sweeps_.at(id)->row;
    CONCUR_CHECK(row.owner == request.first && row.request_id == request.second);
  }
  CheckWorkers();
  CheckReuse();
  CheckLeases();
  CheckDurations();
  CheckOwners();
  label_sets_.CheckInvariants();
}

void Scheduler::CheckWorkers() const {
  workers_.CheckInvariants();
  size_t running = 0;
  std::map<SweepId, uint32_t> stopping;
  std::map<SweepId, uint32_t> queued;
  for (const auto& [name, worker] : workers_) {
    for (const auto& [id, assignment] : worker->assignments.all()) {
      if (assignment.counted) {
        ++stopping[id.job.sweep];
      }
      if (assignment.stopping) {
        continue;
      }
      ++running;
      queued[id.job.sweep] += assignment.ahead ? 1 : 0;
      const Leases::Lease* lease = leases_.Find(id.job);
      CONCUR_CHECK(lease != nullptr);
      CONCUR_CHECK(JobOf(id.job).attempt == id.attempt.number);
      CONCUR_CHECK(leases_.WorkerOf(lease->holder) == name);
      CONCUR_CHECK(lease->gpu_mask == assignment.gpu_mask);
    }
  }
  CONCUR_CHECK(running == leases_.size());
  for (const auto& [id, sweep] : sweeps_) {
    CONCUR_CHECK(sweep->queued == queued[id]);
    CONCUR_CHECK(sweep->stopping == stopping[id]);
    stopping.erase(id);
  }
  CONCUR_CHECK(stopping.empty());
  blame_.CheckInvariants();
  blame_.ForEach([&](const Blame::Kind&, const std::string& worker, const Blame::Cell& cell) {
    CONCUR_CHECK(workers_.Find(worker) != nullptr && sweeps_.contains(cell.sweep));
  });
}

void Scheduler::CheckOwners() const {
  OwnerLedger recount(policy_.quotas);
  for (const auto& [name, worker] : workers_) {
    for (const auto& [id, assignment] : worker->assignments.all()) {
      if (assignment.owner) {
        recount.AddAttempt(recount.Add(owners_.name(*assignment.owner)), assignment.resources);
      }
    }
  }
  for (const auto& [id, sweep] : sweeps_) {
    const uint32_t owner = recount.Add(sweep->row.owner);
    recount.AddData(owner, sweep->expansion->spec());
    for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
      recount.AddBytes(owner, sweep->StoredBytesOf(job));
    }
    for (const auto& [job, checkpoint] : sweep->checkpoints) {
      recount.AddCheckpointBytes(owner, checkpoint.bytes);
    }
  }
  owners_.CheckInvariants(recount);
}

void Scheduler::CheckDurations() const {
  std::map<Durations::Group, std::pair<int64_t, uint64_t>> totals;
  for (const auto& [id, sweep] : sweeps_) {
    for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
      const JobTable::Job& record = sweep->jobs[job];
      if (record.state() == JobState::kSucceeded && sweep->TaughtDuration(job)) {
        auto& [micros, count] = totals[sweep->GroupOf(job)];
        micros += Durations::MicrosOf(sweep->jobs.ResultOf(job)->run_time);
        ++count;
      }
    }
  }
  for (Durations::Group group = 0; group < durations_.size(); ++group) {
    CONCUR_CHECK(durations_.TotalOf(group) == totals[group]);
  }
}

void Scheduler::CheckReuse() const {
  reuse_.CheckInvariants([this](JobId a, JobId b) { return IsBetterSource(a, b); },
                         [this](JobId id) { return SweepOf(id).BlockKeyOf(id.index); });
  reuse_.ForEachFollower([this](JobId follower, JobId leader) {
    CONCUR_CHECK(JobOf(follower).state() == JobState::kBlocked);
    CONCUR_CHECK(leases_.Find(leader) != nullptr);
    CONCUR_CHECK(ContentKeyOf(follower) == ContentKeyOf(leader));
  });
  reuse_.ForEachRunning([this](const Digest& key, JobId id) {
    const Leases::Lease* lease = leases_.Find(id);
    CONCUR_CHECK(lease != nullptr && lease->key == key && ContentKeyOf(id) == key);
  });
  reuse_.ForEachFinished([this](const Digest& key, JobId id) {
    CONCUR_CHECK(JobOf(id).state() == JobState::kSucceeded && ContentKeyOf(id) == key);
  });
  size_t succeeded = 0;
  for (const auto& [id, sweep] : sweeps_) {
    succeeded += sweep->jobs.count(JobState::kSucceeded);
  }
  CONCUR_CHECK(reuse_.finished() == succeeded);
}

void Scheduler::CheckLeases() const {
  leases_.CheckInvariants();
  leases_.ForEachLost([this](JobId id) {
    CONCUR_CHECK(HasJob(id));
    const JobTable::Job& record = JobOf(id);
    CONCUR_CHECK(record.state() == JobState::kReady || record.state() == JobState::kBlocked);
    CONCUR_CHECK(record.attempt > 0 && !record.settled);
  });
}

void Scheduler::CheckJob(const SweepRecord& sweep, uint32_t job) const {
  const JobState state = sweep.jobs[job].state();
  const JobId id = sweep.IdOf(job);
  CONCUR_CHECK((state == JobState::kRunning) == (leases_.Find(id) != nullptr));
  CONCUR_CHECK((state == JobState::kBackoff) == backoffs_.EndOf(id).has_value());
  if (state == JobState::kReady) {
    CONCUR_CHECK(suspects_.IsReady(id) == suspects_.MustRunAlone(id));
    CONCUR_CHECK(suspects_.IsReady(id) != ready_.Contains(sweep.LaneOf(job), job));
    CONCUR_CHECK(!sweep.AwaitsSource(job));
  } else if (state == JobState::kBlocked) {
    CONCUR_CHECK(reuse_.LeaderOf(id) || !HasLetGo(sweep, job) || sweep.AwaitsSource(job));
    CONCUR_CHECK(!sweep.AwaitsSource(job) ||
                 !IsTerminal(sweep.jobs[*sweep.expansion->SourceOf(job)].state()));
  }
}

}  // namespace concur
