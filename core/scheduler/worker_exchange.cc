// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/worker_exchange.h"

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
#include "base/check.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "core/fields.h"
#include "core/spent.h"
#include "core/state/sweep_record.h"
#include "core/sweep/needs.h"

namespace concur {
namespace {

constexpr size_t kNamedMetricsMax = 5;

// Turns a success without the benchmark's metric into a failure.
void RequireMetric(const std::string& metric, JobResult& result) {
  if (FindMetric(&result, metric) != nullptr) {
    return;
  }
  std::vector<std::string> names;
  bool in_parts = false;
  const size_t plain = result.metrics.size() - PartMetricsOf(result);
  for (const Metric& reported : result.metrics) {
    if (reported.part.empty() && names.size() < kNamedMetricsMax) {
      names.push_back(Quoted(reported.name));
    }
    in_parts = in_parts || reported.name == metric;
  }
  result.succeeded = false;
  result.failure = FailureClass::kInvalidOutput;
  result.message =
      absl::StrCat("expected the benchmark's metric \"", metric, "\", got ",
                   names.empty() ? std::string("no metric") : absl::StrJoin(names, ", "),
                   names.size() < plain ? ", …" : "",
                   in_parts ? "; only some parts have it: write it beside \"parts\", too" : "");
  result.metrics.clear();
}

}  // namespace

void WorkerExchange::EndDeadlines() {
  while (Worker* worker = workers_.roster().FirstOverdue(turn_.now())) {
    if (!worker->lost) {
      LoseWorker(*worker, /*died=*/true,
                 absl::StrCat("worker ", worker->info.name, " was not heard of for ",
                              absl::FormatDuration(policy_.lease)));
    } else if (worker->drain_asked) {
      workers_.roster().DropDeadline(*worker);
    } else {
      workers_.Forget(*worker);
    }
  }
  while (Worker* worker = workers_.roster().FirstQuarantineEnded(turn_.now())) {
    workers_.EndQuarantine(*worker);
  }
}

void WorkerExchange::ExtendLeases(absl::Duration paused) {
  const absl::Time now = turn_.now();
  for (const auto& [name, worker] : workers_.roster()) {
    if (!worker->lost) {
      workers_.roster().SetDeadline(
          *worker, std::min(std::max(worker->lease_expire + paused, now + policy_.pause_min),
                            now + policy_.lease));
    }
  }
}

// The worker of the call, which may be new or a new incarnation.
absl::StatusOr<Worker*> WorkerExchange::Admit(const SyncRequest& request) {
  const WorkerInfo& info = request.worker;
  if (info.name.empty() || info.incarnation.empty()) {
    return absl::InvalidArgumentError("worker: expected a name and an incarnation");
  }
  Worker* worker = workers_.roster().Find(info.name);
  if (worker == nullptr) {
    if (workers_.roster().size() >= policy_.workers_max) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "this coordinator knows ", workers_.roster().size(), " workers, its limits.workers_max"));
    }
    return &workers_.Add(info);
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
void WorkerExchange::Reincarnate(Worker& worker, const SyncRequest& request) {
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
    return !id.job.IsService() && worker.assignments.Find(id)->MayHaveStarted();
  });
  for (const AttemptId& id : gone) {
    const Assignment& assignment = *worker.assignments.Find(id);
    const std::string message = absl::StrCat("worker ", worker.info.name, " was restarted");
    if (id.job.IsService()) {
      workers_.Unassign(worker, id);
      continue;
    }
    if (!assignment.stopping && assignment.MayHaveStarted()) {
      jobs_.LoseAttemptByDeath(id.job, /*shared=*/started > 1, message);
    } else if (!assignment.stopping) {
      jobs_.LoseAttempt(id.job, FailureClass::kLost, message);
    }
    workers_.Unassign(worker, id);
  }
  workers_.Reincarnate(worker, request.worker);
}

absl::Status WorkerExchange::Sync(const SyncRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(Worker * worker, Admit(request));
  worker->info = request.worker;
  worker->sequence = request.sequence;
  worker->last_seen = turn_.now();
  worker->lost = false;
  const bool had_left = std::exchange(worker->left, false);
  worker->drain_self = request.draining;
  workers_.roster().SetDeadline(*worker, turn_.now() + policy_.lease);
  worker->end_time = turn_.now() + request.time_left;
  worker->whole_time = std::max(worker->whole_time, request.time_left);
  worker->forget.clear();

  ApplySteps(*worker, request.steps);
  for (const FinishedAttempt& finished : request.finished) {
    ApplyFinished(*worker, finished);
  }
  worker->assignments.BeginSync(turn_.now(), policy_.lease);
  for (const RunningService& service : request.services) {
    ApplyService(*worker, service);
  }
  for (const AttemptId& id : request.running) {
    ApplyRunning(*worker, id);
  }
  for (const AttemptProgress& progress : request.progress) {
    ApplyProgress(*worker, progress);
  }
  for (const FinishedAttempt& finished : request.finished) {
    // Its row says that it has its GPUs until the sweep is loaded and the result counts.
    if (const Resources* of = book_.ResourcesOfLeftOut(finished.id.job);
        of != nullptr && (of->gpus > 0 || of->gpu_share > 0)) {
      ApplyRunning(*worker, finished.id);
    }
  }
  worker->lost_attempts.clear();
  for (const AttemptId& id : worker->assignments.EndSync()) {
    workers_.Unassign(*worker, id);
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
  if (worker->left != had_left) {
    workers_.Save(*worker);
  }
  return absl::OkStatus();
}

// True when the worker holds the attempt, or held it last and may hand in its result.
bool WorkerExchange::MayReport(const Worker& worker, AttemptId id) const {
  if (!book_.HasJob(id.job)) {
    return false;
  }
  const JobTable::Job& record = book_.JobOf(id.job);
  if (record.attempt != id.attempt.number || record.settled) {
    return false;
  }
  const RunningJobs::Lease* lease = places_.running.Find(id.job);
  const RunningJobs::Lost* lost = places_.running.FindLost(id.job);
  return (lease != nullptr && places_.running.WorkerOf(lease->holder) == worker.info.name) ||
         (lost != nullptr && places_.running.WorkerOf(lost->holder) == worker.info.name &&
          !IsTerminal(record.state()));
}

// Counts what an attempt has spent, also one that was lost, stopped or refused. Other names and
// values out of range are passed over.
void WorkerExchange::NoteSpent(AttemptId id, absl::string_view name, double value) {
  if (!IsSpentName(name) || !book_.HasJob(id.job) || id.attempt.number == 0 ||
      id.attempt.number > book_.JobOf(id.job).attempt) {
    return;
  }
  const absl::StatusOr<Spent> spent = SpentOf(name, value);
  if (!spent.ok()) {
    return;
  }
  SweepRecord& sweep = book_.SweepOf(id.job);
  const uint32_t job = id.job.index;
  const bool has_finished =
      sweep.jobs[job].state() == JobState::kSucceeded && sweep.TaughtDuration(job);
  if (has_finished) {  // a report of an earlier attempt: the job has cost more
    sweep.spent.RemoveFinished(job, sweep.SpentKindOf(job));
  }
  const SpentLedger::Entry* entry = sweep.spent.Report(job, id.attempt.number, *spent, turn_.now());
  if (has_finished) {
    sweep.spent.AddFinished(job, sweep.SpentKindOf(job));
  }
  if (entry != nullptr) {
    turn_.batch().put_spent.push_back({id.job, id.attempt, entry->spent, entry->time});
    turn_.AnnounceSweep(id.job.sweep);
  }
}

void WorkerExchange::ApplySteps(const Worker& worker, const std::vector<AttemptStep>& steps) {
  for (const AttemptStep& reported : steps) {
    const AttemptId id = reported.id;
    if (IsSpentName(reported.step.name)) {
      NoteSpent(id, reported.step.name, reported.step.value);
      continue;
    }
    if (!MayReport(worker, id)) {
      continue;
    }
    SweepRecord& sweep = book_.SweepOf(id.job);
    if (sweep.steps[id.job.index].Count(reported.step)) {
      turn_.batch().put_steps.push_back({id.job, sweep.next_arrival++, id.attempt, reported.step});
      if (sweep.early_stop) {
        groups_.NoteReport(sweep, id.job.index, reported.step);
      }
    }
  }
}

void WorkerExchange::ApplyProgress(const Worker& worker, const AttemptProgress& progress) {
  const JobId job = progress.id.job;
  if (worker.assignments.Find(progress.id) != nullptr && places_.running.Find(job) != nullptr &&
      book_.JobOf(job).attempt == progress.id.attempt.number &&
      places_.running.SetProgress(job, progress.done, progress.of)) {
    turn_.AnnounceSweep(job.sweep);
  }
}

void WorkerExchange::ApplyFinished(Worker& worker, const FinishedAttempt& finished) {
  const AttemptId id = finished.id;
  if (book_.left_out().contains(id.job.sweep)) {
    workers_.Unassign(worker, id);
    return;  // the worker keeps the result until the sweep is loaded
  }
  if (id.job.IsService()) {
    EndService(worker, finished);
    return;
  }
  ForgetOrder order{id, false, ""};
  for (const Metric& metric : finished.result.metrics) {
    if (metric.part.empty()) {
      NoteSpent(id, metric.name, metric.value);
    }
  }
  if (!book_.HasJob(id.job)) {
    order.reason = "there is no such job";
  } else {
    SweepRecord& sweep = book_.SweepOf(id.job);
    JobTable::Job& record = sweep.jobs[id.job.index];
    const RunningJobs::Lease* lease = places_.running.Find(id.job);
    const RunningJobs::Lost* lost = places_.running.FindLost(id.job);
    const bool holds =
        lease != nullptr && places_.running.WorkerOf(lease->holder) == worker.info.name;
    const bool held_last =
        lost != nullptr && places_.running.WorkerOf(lost->holder) == worker.info.name;
    if (id.attempt.number != record.attempt) {
      if (KeepStoppedAttempt(worker, finished)) {  // it was paused, and its job went on before
        jobs_.AcquitPaused(sweep, id.job.index);
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
        jobs_.ReturnAttempt(sweep, id.job.index);
      }
      order.reason = SettleOnEqual(sweep, id.job.index, worker, finished.result);
      if (order.reason.empty()) {
        results_.TakeCheckpoint(sweep, id.job.index, finished);
        AcceptResult(sweep, id.job.index, worker, finished.result);
        order.accepted = true;
      }
    } else {
      if (WasPaused(worker, id)) {
        FinishedAttempt paused = finished;                 // the job goes on from there
        paused.result.failure = FailureClass::kPreempted;  // a failure does not count, either
        results_.TakeCheckpoint(sweep, id.job.index, paused);
        jobs_.AcquitPaused(sweep, id.job.index);
      }
      KeepStoppedAttempt(worker, finished);
      order.reason = absl::StrCat("the job is ", JobStateName(record.state()));
    }
  }
  if (!order.accepted) {
    ++refused_results_;
  }
  workers_.Unassign(worker, id);
  worker.forget.push_back(std::move(order));
}

// True when early_stop paused the attempt, whose end is refused. One that was canceled leaves
// nothing to a retry.
bool WorkerExchange::WasPaused(const Worker& worker, AttemptId id) const {
  const SweepRecord& sweep = book_.SweepOf(id.job);
  const JobState state = book_.JobOf(id.job).state();
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

// The log and the time of an attempt that early_stop ended stay, as those of any that did not
// succeed. Of one whose end comes again nothing is held any more, and of one that ended beside a
// restart nobody knows why it was to stop: these leave nothing.
// Returns whether it was such an attempt.
bool WorkerExchange::KeepStoppedAttempt(const Worker& worker, const FinishedAttempt& finished) {
  const Assignment* held = worker.assignments.Find(finished.id);
  if (held == nullptr || !held->stopping || held->reason != StopReason::kEarlyStop) {
    return false;
  }
  AttemptRow row{.id = finished.id.job,
                 .attempt = finished.id.attempt,
                 .worker = worker.info.name,
                 .end_time = turn_.now(),
                 .result = finished.result};
  row.result.succeeded = false;
  row.result.failure = FailureClass::kPreempted;  // neither a success nor a failure that counts
  row.result.metrics.clear();
  turn_.batch().put_attempts.push_back(std::move(row));
  return true;
}

// Two jobs of equal content may both have run, when the lease of one was lost. The result that came
// first counts for both, or a command that is not deterministic would give one cell two scores.
// Returns why this success does not count, or "" when it may.
std::string WorkerExchange::SettleOnEqual(SweepRecord& sweep, uint32_t job, Worker& worker,
                                          const JobResult& result) {
  const Digest key = sweep.keys.KeyOf(job);
  const std::optional<JobId> first = result.succeeded ? results_.SourceOf(key) : std::nullopt;
  if (!first || !jobs_.TryReuse(sweep, job, key)) {
    return "";
  }
  ++worker.succeeded;
  workers_.RecordSuccess(sweep, job, worker.info.name);
  jobs_.ReleaseFollowers(sweep.IdOf(job));
  const bool differs = sweep.jobs.ResultOf(job)->metrics != result.metrics;
  return absl::StrCat("the equal job ", first->ToString(), " ended first, and its result counts",
                      differs ? "; their scores differ: the command is not deterministic" : "");
}

void WorkerExchange::AcceptResult(SweepRecord& sweep, uint32_t job, Worker& worker,
                                  JobResult result) {
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
    workers_.RecordSuccess(sweep, job, worker.info.name);
    jobs_.Succeed(sweep, job, std::move(result), worker.holder);
    if (at.is_train) {
      workers_.AddLocalJobs(sweep, job, worker);
    }
  } else {
    if (result.failure == FailureClass::kNone) {
      result.failure = FailureClass::kFailed;
    } else if (result.failure == FailureClass::kLost || result.failure == FailureClass::kPoison) {
      // Only the scheduler declares these: an attempt that is reported has ended for good.
      result.failure = FailureClass::kWorker;
    }
    ++worker.failed;
    const FailureClass failure = result.failure;
    jobs_.Fail(sweep, job, std::move(result), worker.holder);
    workers_.RecordFailure(sweep, job, worker.info.name, failure);
  }
}

void WorkerExchange::ApplyRunning(Worker& worker, AttemptId id) {
  if (worker.assignments.SetListed(id)) {
    return;
  }
  Assignment assignment;
  assignment.listed = true;
  assignment.taken = true;
  assignment.time_left = policy_.overdue_grace;  // to stop it, unless it goes on
  assignment.resources = Resources{.cpu_millis = 0};
  const bool has_job = book_.HasJob(id.job);
  const auto lost = worker.lost_attempts.find(id);
  const Resources* left_out = book_.ResourcesOfLeftOut(id.job);
  if (left_out != nullptr) {
    assignment.resources = *left_out;
    assignment.time_left = absl::InfiniteDuration();
    assignment.order_sent = true;  // it goes on: TakeOrders does not stop it
  } else if (has_job) {
    assignment.resources = book_.SweepOf(id.job).LaneOf(id.job.index).resources;
  } else if (lost != worker.lost_attempts.end()) {
    assignment.resources.gpu_share = lost->second.gpu_share;
    assignment.uses = lost->second.uses;
  } else {
    assignment.uses = NamedResources::kUnknown;
  }
  assignment.gpu_mask = GpusOfReturned(worker, id, assignment.resources);
  if (MayAdopt(worker, id)) {
    // It came back before its job was given to anybody else: the attempt goes on.
    SweepRecord& sweep = book_.SweepOf(id.job);
    jobs_.ReturnAttempt(sweep, id.job.index);
    assignment.time_max = workers_.TimeMaxOf(sweep, id.job.index);
    assignment.time_left =
        lost == worker.lost_attempts.end() ? assignment.time_max : lost->second.time_left;
    jobs_.EnterRunning(sweep, id.job.index,
                       {worker.holder, assignment.gpu_mask, sweep.keys.KeyOf(id.job.index)});
    assignment.order_sent = true;
  } else {
    if (!has_job && left_out == nullptr && assignment.resources.gpu_share == 0) {
      // Its sweep was deleted before a restart, and nobody knows its GPUs: none is given until it
      // stops.
      assignment.resources.gpus = lost != worker.lost_attempts.end()
                                      ? std::popcount(assignment.gpu_mask)
                                      : std::min(1, worker.info.capacity.gpus);
    }
    assignment.stopping = true;
    assignment.reason = has_job && book_.JobOf(id.job).state() == JobState::kCanceled
                            ? StopReason::kCanceled
                            : StopReason::kFenced;
  }
  workers_.Assign(worker, id, assignment);
}

// An instance that was not known, as after a restart of the coordinator, goes on unless nobody
// knows its service, or the worker has another one of it.
void WorkerExchange::ApplyService(Worker& worker, const RunningService& running) {
  const AttemptId id = running.id;
  Services& services = book_.services();
  if (!worker.assignments.SetListed(id)) {
    Assignment assignment;
    assignment.listed = true;
    assignment.taken = true;
    assignment.order_sent = true;
    const JobId served = id.job.ServedJob();
    const bool is_known = book_.HasJob(served) && !services.Contains(id);
    const SweepRecord* sweep = is_known ? &book_.SweepOf(served) : nullptr;
    const uint32_t service = sweep == nullptr ? 0 : sweep->ServiceOf(id.job);
    if (service != 0) {
      assignment.resources = services.Get(service).spec.resources;
    } else {
      assignment.resources = {.cpu_millis = 0, .gpus = std::popcount(running.gpu_mask)};
    }
    const bool has_gpus = worker.assignments.GpusAreFree(running.gpu_mask, assignment.resources);
    assignment.gpu_mask = has_gpus ? running.gpu_mask : 0;
    assignment.stopping =
        service == 0 || !has_gpus || services.InstanceOn(worker.info.name, service).has_value();
    if (assignment.stopping) {
      assignment.reason = StopReason::kFenced;
      assignment.order_sent = false;
      assignment.time_left = policy_.overdue_grace;
    }
    if (service != 0) {
      services.AddInstance(id, {.service = service,
                                .worker = worker.info.name,
                                .ready = running.ready,
                                .stopping = assignment.stopping,
                                .start_time = std::nullopt,
                                .idle_since = turn_.now()});
    }
    workers_.Assign(worker, id, assignment);
    return;  // charged when it is listed again: a late call may list one that has ended
  }
  const Services::Instance* instance = services.Find(worker.info.name, id);
  if (instance == nullptr) {
    return;
  }
  if (turn_.now() - instance->charged_until >= kServiceChargeInterval) {
    workers_.ChargeService(worker, id, FailureClass::kNone);
  }
  if (running.ready == instance->ready) {
    return;
  }
  if (running.ready) {
    services.SetReady(id, turn_.now());
  } else if (!instance->stopping) {  // it has ended, and its log is under way
    workers_.Stop(worker, id, StopReason::kFenced, /*counted=*/false);
  }
}

// The jobs that asked it end by themselves, each with its own report.
void WorkerExchange::EndService(Worker& worker, const FinishedAttempt& finished) {
  Services& services = book_.services();
  const Services::Instance* instance = services.Find(worker.info.name, finished.id);
  const FailureClass failure = finished.result.failure;
  if (instance != nullptr && !instance->stopping && !instance->ready &&
      failure != FailureClass::kPreempted && failure != FailureClass::kLost) {
    const auto failures = static_cast<int>(services.Get(instance->service).failed_starts) + 1;
    JobResult result;  // jobs that need it get this, if no start succeeds
    result.failure = FailureClass::kService;
    result.exit_code = finished.result.exit_code;
    result.start_time = finished.result.start_time;
    result.message = CleanUtf8(absl::StrCat("its service ended before it was ready, ", failures,
                                            " times in a row: ", finished.result.message),
                               kMessageBytesMax);
    if (const ArtifactRef* log = FindArtifact(finished.result, ArtifactKind::kLog)) {
      result.artifacts = {*log};
    }
    services.FailStart(
        instance->service, worker.info.name,
        turn_.now() + Backoffs::WaitAfter(RetryPolicy(), failures, finished.id, policy_.seed),
        result);
  }
  workers_.EndService(worker, finished);
  worker.forget.push_back({finished.id, /*accepted=*/true, ""});
}

bool WorkerExchange::MayAdopt(const Worker& worker, AttemptId id) const {
  if (!book_.HasJob(id.job)) {
    return false;
  }
  const JobTable::Job& record = book_.JobOf(id.job);
  const RunningJobs::Lost* lost = places_.running.FindLost(id.job);
  return record.attempt == id.attempt.number && !record.settled &&
         record.state() == JobState::kReady && lost != nullptr && lost->holder == worker.holder;
}

// The GPUs that an attempt has which the worker lists but was not known to hold; 0 when unknown.
uint64_t WorkerExchange::GpusOfReturned(const Worker& worker, AttemptId id,
                                        const Resources& resources) const {
  uint64_t mask = 0;
  if (const auto it = worker.lost_attempts.find(id); it != worker.lost_attempts.end()) {
    mask = it->second.gpu_mask;
  } else if (MayAdopt(worker, id)) {
    mask = places_.running.FindLost(id.job)->gpu_mask;
  }
  return worker.assignments.GpusAreFree(mask, resources) ? mask : 0;
}

// The worker calls, but an attempt is overdue there: its job returns to the queue, and the worker
// is blamed, unless it had the attempt ahead. It keeps its room until the worker drops it. One that
// was already to stop is no longer waited for.
void WorkerExchange::TakeBack(Worker& worker, AttemptId id) {
  const Assignment assignment = *worker.assignments.Find(id);
  if (assignment.stopping) {
    workers_.Abandon(worker, id);
    return;
  }
  if (id.job.IsService()) {
    workers_.Stop(worker, id, StopReason::kFenced, /*counted=*/false);
    return;
  }
  SweepRecord& sweep = book_.SweepOf(id.job);
  workers_.Stop(worker, id, StopReason::kFenced, /*counted=*/false);
  ++worker.failed;
  jobs_.LoseAttempt(
      id.job, FailureClass::kWorker,
      assignment.taken
          ? absl::StrCat("worker ", worker.info.name, " still calls, but reported no result ",
                         "within the time-out and ", absl::FormatDuration(policy_.overdue_grace),
                         " (overdue_grace)")
          : absl::StrCat("worker ", worker.info.name, " still calls, but did not start it ",
                         "within ", absl::FormatDuration(policy_.overdue_grace),
                         " (overdue_grace)"));
  if (!assignment.ahead) {
    workers_.RecordFailure(sweep, id.job.index, worker.info.name, FailureClass::kWorker);
  }
}

// Everything that the worker held returns to the queue.
void WorkerExchange::LoseWorker(Worker& worker, bool died, const std::string& message) {
  worker.lost_attempts.clear();
  const size_t started = worker.assignments.started();
  while (!worker.assignments.empty()) {
    const auto [id, assignment] = *worker.assignments.all().begin();
    worker.lost_attempts[id] = {assignment.gpu_mask, assignment.resources.gpu_share,
                                assignment.uses, assignment.time_left};
    if (id.job.IsService()) {
      workers_.Unassign(worker, id);
      continue;
    }
    if (!assignment.stopping && died && assignment.MayHaveStarted()) {
      jobs_.LoseAttemptByDeath(id.job, /*shared=*/started > 1, message);
    } else if (!assignment.stopping) {
      jobs_.LoseAttempt(id.job, FailureClass::kLost, message);
    }
    workers_.Unassign(worker, id);
  }
  worker.lost = true;
  worker.parked = false;
  worker.forget.clear();
  workers_.roster().SetDeadline(worker, turn_.now() + policy_.lost_worker_kept);
}

bool WorkerExchange::HasOrders(const std::string& name) const {
  const Worker* worker = workers_.roster().Find(name);
  return worker != nullptr && worker->HasOrders();
}

// The instances that the job is to ask on the worker.
std::map<std::string, AttemptId> WorkerExchange::InstancesFor(const SweepRecord& sweep, JobId job,
                                                              const std::string& worker) const {
  const Services& services = book_.services();
  const JobCoordinates at = sweep.expansion->Locate(job.index);
  const SweepSpec& spec = sweep.expansion->spec();
  const uint32_t approach = sweep.expansion->blocks()[at.block].approach;
  std::map<std::string, AttemptId> instances;
  const auto add = [&](const std::string& name, uint32_t place) {
    const JobId id = job.Service(place);
    const auto instance = services.InstanceOn(worker, sweep.ServiceOf(id));
    const bool is_ready = instance && services.Find(worker, *instance)->ready;
    // One that has ended meanwhile is not found there, and the job comes back.
    instances[name] = is_ready ? *instance : AttemptId{id, {1}};
  };
  if (spec.approaches[approach].service) {
    add("", 0);
  }
  uint32_t place = 0;
  for (const uint32_t need : NeedsOf(spec, approach, at.test_benchmark)) {
    add(spec.approaches[need].name, ++place);
  }
  return instances;
}

WorkerOrders WorkerExchange::TakeOrders(const std::string& name) {
  WorkerOrders orders;
  Worker* worker = workers_.roster().Find(name);
  if (worker == nullptr) {
    return orders;
  }
  orders.stop =
      worker->assignments.TakeOrders(kSyncStartsMax, [&](AttemptId id, uint64_t gpu_mask) {
        WorkerOrders::Start& start = orders.start.emplace_back();
        start.id = id;
        start.gpu_mask = gpu_mask;
        const SweepRecord& sweep = book_.SweepOf(id.job);
        if (worker->assignments.Find(id)->services != 0) {
          start.services = InstancesFor(sweep, id.job, name);
        }
        const auto source = id.job.ServicePlace() > 0
                                ? std::nullopt  // a needed service reads no system
                                : sweep.expansion->SourceOf(id.job.ServedJob().index);
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
  std::erase_if(orders.stop, [&](const StopOrder& stop) {
    return book_.left_out().contains(stop.id.job.sweep);
  });
  orders.forget = std::exchange(worker->forget, {});
  orders.drain = worker->drain_asked;
  worker->drain_sent = worker->drain_asked;
  worker->parked = false;
  return orders;
}

void WorkerExchange::DropParkedCall(const std::string& name) {
  if (Worker* worker = workers_.roster().Find(name)) {
    worker->parked = false;
  }
}

}  // namespace concur
