// SPDX-License-Identifier: Apache-2.0
// The exchange with workers (core/sync.h): admitting them, applying what they report, answering.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "core/fields.h"
#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {
namespace {

constexpr size_t kNamedMetricsMax = 5;

// Turns a success without the benchmark's metric into a failure.
void RequireMetric(const std::string& metric, JobResult& result) {
  std::vector<std::string> names;
  for (const Metric& reported : result.metrics) {
    if (reported.name == metric) {
      return;
    }
    if (names.size() < kNamedMetricsMax) {
      names.push_back(Quoted(reported.name));
    }
  }
  result.succeeded = false;
  result.failure = FailureClass::kInvalidOutput;
  result.message =
      absl::StrCat("expected the benchmark's metric \"", metric, "\", got ",
                   names.empty() ? std::string("no metric") : absl::StrJoin(names, ", "),
                   names.size() < result.metrics.size() ? ", …" : "");
  result.metrics.clear();
}

}  // namespace

// The worker of the call, which may be new or a new incarnation.
absl::StatusOr<Worker*> Scheduler::Admit(const SyncRequest& request) {
  const WorkerInfo& info = request.worker;
  if (info.name.empty() || info.incarnation.empty()) {
    return absl::InvalidArgumentError("worker: expected a name and an incarnation");
  }
  Worker* worker = workers_.Find(info.name);
  if (worker == nullptr) {
    if (workers_.size() >= policy_.workers_max) {
      return absl::ResourceExhaustedError(absl::StrCat("this coordinator knows ", workers_.size(),
                                                       " workers, its limits.workers_max"));
    }
    worker = &workers_.Add(info);
    worker->holder = leases_.AddHolder(info.name, info.incarnation);
    worker->last_seen = now_;
    SaveWorker(*worker);
    return worker;
  }
  if (worker->info.incarnation == info.incarnation) {
    if (worker->sequence && request.sequence <= *worker->sequence) {
      return absl::AbortedError(absl::StrCat("sync ", request.sequence, " of worker ", info.name,
                                             " came after sync ", *worker->sequence));
    }
    return worker;
  }
  if (!worker->lost && info.previous_incarnation != worker->info.incarnation) {
    return absl::AlreadyExistsError(
        absl::StrCat("a live worker is called \"", info.name, "\"; its lease ends at ",
                     FormatIsoTime(worker->lease_expire),
                     " unless it is heard of again; choose another --name"));
  }
  Reincarnate(*worker, request);
  return worker;
}

// The worker was restarted: what the old process ran is lost, unless its result was saved and comes
// now.
void Scheduler::Reincarnate(Worker& worker, const SyncRequest& request) {
  absl::flat_hash_set<AttemptId> reported;
  for (const FinishedAttempt& finished : request.finished) {
    reported.insert(finished.id);
  }
  std::vector<AttemptId> gone;
  for (const auto& [id, assignment] : worker.assignments.all()) {
    if (assignment.stopping || !reported.contains(id)) {
      gone.push_back(id);
    }
  }
  const auto started = std::count_if(gone.begin(), gone.end(), [&](const AttemptId& id) {
    return worker.assignments.Find(id)->MayHaveStarted();
  });
  for (const AttemptId& id : gone) {
    const Assignment& assignment = *worker.assignments.Find(id);
    const std::string message = absl::StrCat("worker ", worker.info.name, " was restarted");
    if (!assignment.stopping && assignment.MayHaveStarted()) {
      LoseAttemptByDeath(id.job, /*shared=*/started > 1, message);
    } else if (!assignment.stopping) {
      LoseAttempt(id.job, FailureClass::kLost, message);
    }
    Unassign(worker, id);
  }
  worker.info = request.worker;
  worker.holder = leases_.AddHolder(worker.info.name, worker.info.incarnation);
  worker.sequence.reset();
  worker.drain_sent = false;
  worker.lost_attempts.clear();  // those processes are gone
  SaveWorker(worker);
}

absl::Status Scheduler::Sync(const SyncRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(Worker * worker, Admit(request));
  worker->info = request.worker;
  worker->sequence = request.sequence;
  worker->last_seen = now_;
  worker->lost = false;
  worker->left = false;
  worker->drain_self = request.draining;
  workers_.SetDeadline(*worker, now_ + policy_.lease);
  worker->end_time = now_ + request.time_left;
  worker->whole_time = std::max(worker->whole_time, request.time_left);
  worker->forget.clear();

  ApplySteps(*worker, request.steps);
  for (const FinishedAttempt& finished : request.finished) {
    ApplyFinished(*worker, finished);
  }
  worker->assignments.BeginSync(now_, policy_.lease);
  for (const AttemptId& id : request.running) {
    ApplyRunning(*worker, id);
  }
  worker->lost_attempts.clear();
  for (const AttemptId& id : worker->assignments.EndSync()) {
    Unassign(*worker, id);
  }
  for (const AttemptId& id : worker->assignments.Overdue()) {
    TakeBack(*worker, id);
  }
  worker->parked = true;
  if (request.shutting_down) {
    std::vector<ForgetOrder> forget = std::move(worker->forget);
    LoseWorker(*worker, /*died=*/false, absl::StrCat("worker ", worker->info.name, " left"));
    worker->forget = std::move(forget);  // to be answered once more
    worker->lost_attempts.clear();       // it runs nothing any more
    worker->left = true;
  }
  return absl::OkStatus();
}

// Whether the worker holds the attempt, or held it last and may hand in its result.
bool Scheduler::MayReport(const Worker& worker, AttemptId id) const {
  if (!HasJob(id.job)) {
    return false;
  }
  const JobTable::Job& record = JobOf(id.job);
  if (record.attempt != id.attempt.number || record.settled) {
    return false;
  }
  const Leases::Lease* lease = leases_.Find(id.job);
  const Leases::Lost* lost = leases_.FindLost(id.job);
  return (lease != nullptr && leases_.WorkerOf(lease->holder) == worker.info.name) ||
         (lost != nullptr && leases_.WorkerOf(lost->holder) == worker.info.name &&
          !IsTerminal(record.state()));
}

void Scheduler::ApplySteps(const Worker& worker, const std::vector<AttemptStep>& steps) {
  for (const AttemptStep& reported : steps) {
    const AttemptId id = reported.id;
    if (!MayReport(worker, id)) {
      continue;
    }
    SweepRecord& sweep = SweepOf(id.job);
    if (sweep.steps[id.job.index].Count(reported.step)) {
      pending_.batch.put_steps.push_back({id.job, sweep.next_arrival++, id.attempt, reported.step});
      if (sweep.early_stop) {
        NoteReport(sweep, id.job.index, reported.step);
      }
    }
  }
}

// What an earlier run of the job reported does not count for the next one.
void Scheduler::DropSteps(SweepRecord& sweep, uint32_t job) {
  if (sweep.steps.erase(job) > 0) {
    pending_.batch.delete_steps.emplace_back(sweep.IdOf(job), sweep.next_arrival);
  }
}

// Whether early_stop paused the attempt, whose end is refused. An attempt that was canceled leaves
// nothing to a retry.
bool Scheduler::WasPaused(const Worker& worker, AttemptId id) const {
  const SweepRecord& sweep = SweepOf(id.job);
  const JobState state = JobOf(id.job).state();
  if (!sweep.early_stop || IsTerminal(state) || state == JobState::kRunning) {
    return false;
  }
  const Assignment* held = worker.assignments.Find(id);
  if (held != nullptr && held->stopping && held->reason != StopReason::kFenced) {
    return held->reason == StopReason::kEarlyStop;
  }
  // After a restart nobody knows why it is to stop. What waits for its source was canceled or
  // failed before.
  return state == JobState::kBlocked && !sweep.AwaitsSource(id.job.index);
}

void Scheduler::ApplyFinished(Worker& worker, const FinishedAttempt& finished) {
  const AttemptId id = finished.id;
  ForgetOrder order{id, false, ""};
  if (!HasJob(id.job)) {
    order.reason = "there is no such job";
  } else {
    SweepRecord& sweep = SweepOf(id.job);
    JobTable::Job& record = sweep.jobs[id.job.index];
    const Leases::Lease* lease = leases_.Find(id.job);
    const Leases::Lost* lost = leases_.FindLost(id.job);
    const bool holds = lease != nullptr && leases_.WorkerOf(lease->holder) == worker.info.name;
    const bool held_last = lost != nullptr && leases_.WorkerOf(lost->holder) == worker.info.name;
    if (id.attempt.number != record.attempt) {
      if (KeepStoppedAttempt(worker, finished)) {  // it was paused, and its job went on before
        AcquitPaused(sweep, id.job.index);
      }
      order.reason = absl::StrCat("attempt ", record.attempt, " is the latest one");
    } else if (record.settled && record.reused()) {
      order.reason = "the job took the result of an equal one";
    } else if (record.settled && finished.result.succeeded &&
               record.failure == FailureClass::kWorker && record.state() != JobState::kSucceeded) {
      order.reason = "the result came after the attempt was taken back";
    } else if (record.settled) {
      order.accepted = true;
    } else if (holds || (held_last && !IsTerminal(record.state()))) {
      if (!holds) {
        ReturnAttempt(sweep, id.job.index);
      }
      order.reason = SettleOnEqual(sweep, id.job.index, worker, finished.result);
      if (order.reason.empty()) {
        TakeCheckpoint(sweep, id.job.index, finished);
        AcceptResult(sweep, id.job.index, worker, finished.result);
        order.accepted = true;
      }
    } else {
      if (WasPaused(worker, id)) {
        FinishedAttempt paused = finished;                 // the job goes on from there
        paused.result.failure = FailureClass::kPreempted;  // a failure does not count, either
        TakeCheckpoint(sweep, id.job.index, paused);
        AcquitPaused(sweep, id.job.index);
      }
      KeepStoppedAttempt(worker, finished);
      order.reason = absl::StrCat("the job is ", JobStateName(record.state()));
    }
  }
  if (!order.accepted) {
    ++refused_results_;
  }
  Unassign(worker, id);
  worker.forget.push_back(std::move(order));
}

// Two jobs of equal content may both have run, when the lease of one was lost. The result that came
// first counts for both, or a command that is not deterministic would give one cell two scores.
// Returns why this success does not count, or "" when it may.
std::string Scheduler::SettleOnEqual(SweepRecord& sweep, uint32_t job, Worker& worker,
                                     const JobResult& result) {
  const Digest key = sweep.keys.KeyOf(job);
  const std::optional<JobId> first = result.succeeded ? reuse_.SourceOf(key) : std::nullopt;
  if (!first || !TryReuse(sweep, job, key)) {
    return "";
  }
  ++worker.succeeded;
  RecordSuccess(sweep, job, worker.info.name);
  ReleaseFollowers(sweep.IdOf(job));
  const bool differs = sweep.jobs.ResultOf(job)->metrics != result.metrics;
  return absl::StrCat("the equal job ", first->ToString(), " ended first, and its result counts",
                      differs ? "; their scores differ: the command is not deterministic" : "");
}

void Scheduler::AcceptResult(SweepRecord& sweep, uint32_t job, Worker& worker, JobResult result) {
  const JobCoordinates at = sweep.expansion->Locate(job);
  const bool is_read =
      !sweep.expansion->blocks()[at.block].tests.empty() || sweep.expansion->IsSource(at.block);
  if (result.succeeded && at.is_train && is_read &&
      FindArtifact(result, ArtifactKind::kSystem) == nullptr) {
    result.succeeded = false;
    result.failure = FailureClass::kInvalidOutput;
    result.message = "the worker reported no trained system";
  }
  if (result.succeeded && !at.is_train) {
    RequireMetric(sweep.expansion->spec().benchmarks[at.test_benchmark].metric, result);
  }
  if (result.succeeded) {
    result.failure = FailureClass::kNone;
    ++worker.succeeded;
    RecordSuccess(sweep, job, worker.info.name);
    Succeed(sweep, job, std::move(result), worker.holder);
    if (at.is_train) {
      AddLocalJobs(sweep, job, worker);
    }
  } else {
    if (result.failure == FailureClass::kNone) {
      result.failure = FailureClass::kFailed;
    } else if (result.failure == FailureClass::kLost || result.failure == FailureClass::kPoison) {
      // Only the scheduler declares these: an attempt that is reported has ended for good.
      result.failure = FailureClass::kWorker;
    }
    ++worker.failed;
    RecordFailure(sweep, job, worker.info.name, result.failure);
    Fail(sweep, job, std::move(result), worker.holder);
  }
}

bool Scheduler::MayAdopt(const Worker& worker, AttemptId id) const {
  if (!HasJob(id.job)) {
    return false;
  }
  const JobTable::Job& record = JobOf(id.job);
  const Leases::Lost* lost = leases_.FindLost(id.job);
  return record.attempt == id.attempt.number && !record.settled &&
         record.state() == JobState::kReady && lost != nullptr && lost->holder == worker.holder;
}

// An attempt was not lost after all: it does not count as such.
void Scheduler::ReturnAttempt(SweepRecord& sweep, uint32_t job) {
  JobTable::Job& record = sweep.jobs[job];
  const bool was_charged = !suspects_.TakeBackDeath(sweep.IdOf(job));
  if (was_charged && record.lost > 0) {
    --record.lost;
  }
  record.failure = FailureClass::kNone;
  Touch(sweep.IdOf(job));
}

// The GPUs that an attempt has which the worker lists but was not known to hold; 0 when unknown.
uint64_t Scheduler::GpusOfReturned(const Worker& worker, AttemptId id,
                                   const Resources& resources) const {
  uint64_t mask = 0;
  if (const auto it = worker.lost_attempts.find(id); it != worker.lost_attempts.end()) {
    mask = it->second.gpu_mask;
  } else if (MayAdopt(worker, id)) {
    mask = leases_.FindLost(id.job)->gpu_mask;
  }
  return worker.assignments.GpusAreFree(mask, resources) ? mask : 0;
}

void Scheduler::ApplyRunning(Worker& worker, AttemptId id) {
  if (worker.assignments.SetListed(id)) {
    return;
  }
  Assignment assignment;
  assignment.listed = true;
  assignment.taken = true;
  assignment.time_left = policy_.overdue_grace;  // to stop it, unless it goes on
  assignment.resources = Resources{.cpu_millis = 0};
  const bool has_job = HasJob(id.job);
  const auto lost = worker.lost_attempts.find(id);
  if (has_job) {
    assignment.resources = SweepOf(id.job).LaneOf(id.job.index).resources;
  } else if (lost != worker.lost_attempts.end()) {
    assignment.resources.gpu_share = lost->second.gpu_share;
  }
  assignment.gpu_mask = GpusOfReturned(worker, id, assignment.resources);
  if (MayAdopt(worker, id)) {
    // It came back before its job was given to anybody else: the attempt goes on.
    SweepRecord& sweep = SweepOf(id.job);
    ReturnAttempt(sweep, id.job.index);
    assignment.time_max = TimeMaxOf(sweep, id.job.index);
    assignment.time_left =
        lost == worker.lost_attempts.end() ? assignment.time_max : lost->second.time_left;
    EnterRunning(sweep, id.job.index,
                 {worker.holder, assignment.gpu_mask, sweep.keys.KeyOf(id.job.index)});
    assignment.order_sent = true;
  } else {
    if (!has_job && assignment.resources.gpu_share == 0) {
      // Of a deleted sweep, after a restart, nobody knows its GPUs: none is given until it stops.
      assignment.resources.gpus = lost != worker.lost_attempts.end()
                                      ? std::popcount(assignment.gpu_mask)
                                      : std::min(1, worker.info.capacity.gpus);
    }
    assignment.stopping = true;
    assignment.reason = has_job && JobOf(id.job).state() == JobState::kCanceled
                            ? StopReason::kCanceled
                            : StopReason::kFenced;
  }
  Assign(worker, id, assignment);
}

// --- orders
// ---------------------------------------------------------------------------------------

bool Scheduler::HasOrders(const std::string& name) const {
  const Worker* worker = workers_.Find(name);
  return worker != nullptr && worker->HasOrders();
}

WorkerOrders Scheduler::TakeOrders(const std::string& name) {
  WorkerOrders orders;
  Worker* worker = workers_.Find(name);
  if (worker == nullptr) {
    return orders;
  }
  orders.stop =
      worker->assignments.TakeOrders(kSyncStartsMax, [&](AttemptId id, uint64_t gpu_mask) {
        WorkerOrders::Start& start = orders.start.emplace_back();
        start.id = id;
        start.gpu_mask = gpu_mask;
        const SweepRecord& sweep = SweepOf(id.job);
        const auto source = sweep.expansion->SourceOf(id.job.index);
        const JobResult* result = source ? sweep.jobs.ResultOf(*source) : nullptr;
        const ArtifactRef* system =
            result == nullptr ? nullptr : FindArtifact(*result, ArtifactKind::kSystem);
        if (system != nullptr) {
          start.system = system->digest;
          start.system_bytes = system->bytes;
        }
        if (const auto it = sweep.checkpoints.find(id.job.index); it != sweep.checkpoints.end()) {
          start.checkpoint = it->second;
        }
      });
  orders.forget = std::exchange(worker->forget, {});
  orders.drain = worker->drain_asked;
  worker->drain_sent = worker->drain_asked;
  worker->parked = false;
  return orders;
}

void Scheduler::DropParkedCall(const std::string& name) {
  if (Worker* worker = workers_.Find(name)) {
    worker->parked = false;
  }
}

}  // namespace concur
