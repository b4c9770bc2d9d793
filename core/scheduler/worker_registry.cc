// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/worker_registry.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "core/state/owner_ledger.h"
#include "core/state/sweep_record.h"

namespace concur {
namespace {

// Eval jobs remembered of a worker that made their systems.
constexpr size_t kLocalJobsMax = 4'096;

// A job is given only where it may take so many times its mean.
constexpr double kTimeCare = 1.5;
// But one that fits in a whole worker's time is given in the first part of it.
constexpr double kWholeShare = 0.9;

BlameRow BlameRowOf(const Digest& key, const Blame::Kind& kind, const std::string& worker,
                    const Blame::Cell& cell) {
  return BlameRow{.worker = worker,
                  .kind = key,
                  .sweep = kind.sweep,
                  .approach = kind.approach,
                  .benchmark = kind.benchmark,
                  .is_train = kind.is_train,
                  .failures = cell.failures,
                  .success_time = cell.success_time};
}

// The row replaces earlier ones of the instance, which is so charged once. A sweep that was deleted
// is not charged any more.
void PutServiceUse(SweepBook& book, const std::string& worker, AttemptId id, JobResult use,
                   Batch& batch) {
  const JobId job = id.job.ServedJob();
  if (!book.HasJob(job)) {
    return;
  }
  if (book.SweepOf(job).ServiceOf(id.job) != 0) {
    AttemptRow& row = batch.put_attempts.emplace_back();
    row.id = id.job;
    row.attempt = id.attempt;
    row.worker = worker;
    row.end_time = use.start_time + use.run_time;
    row.result = std::move(use);
  }
}

}  // namespace

// --- workers
Worker& WorkerRegistry::Add(const WorkerInfo& info) {
  Worker& worker = roster_.Add(info);
  worker.holder = places_.running.AddHolder(info.name, info.incarnation);
  worker.last_seen = turn_.now();
  Save(worker);
  return worker;
}

void WorkerRegistry::Reincarnate(Worker& worker, const WorkerInfo& info) {
  worker.info = info;
  worker.holder = places_.running.AddHolder(info.name, info.incarnation);
  worker.sequence.reset();
  worker.drain_sent = false;
  worker.lost_attempts.clear();  // those processes are gone
  EndQuarantine(worker);         // it may have another environment, or a key that it lacked
  Save(worker);
}

void WorkerRegistry::Save(const Worker& worker) {
  std::erase(turn_.batch().delete_workers, worker.info.name);
  std::erase_if(turn_.batch().put_workers,
                [&](const WorkerRow& row) { return row.name == worker.info.name; });
  turn_.batch().put_workers.push_back(worker.Row());
}

void WorkerRegistry::Forget(const Worker& worker) {
  CONCUR_CHECK(worker.assignments.empty());
  const std::string name = worker.info.name;
  blame_.Forget(name);
  roster_.Erase(name);
  std::erase_if(turn_.batch().put_workers, [&](const WorkerRow& row) { return row.name == name; });
  turn_.batch().delete_workers.push_back(name);
}

absl::Status WorkerRegistry::Drain(const std::string& name, bool drain) {
  Worker* worker = roster_.Find(name);
  if (worker == nullptr) {
    return absl::NotFoundError(absl::StrCat("no worker \"", name, "\""));
  }
  if (!drain) {
    EndQuarantine(*worker);
    worker->quarantine_span = absl::ZeroDuration();
    Save(*worker);
  }
  if (worker->drain_asked != drain) {
    worker->drain_asked = drain;
    Save(*worker);
    if (worker->lost && !drain && !roster_.HasDeadline(*worker)) {
      // It was kept for the drain's sake.
      roster_.SetDeadline(*worker, turn_.now() + policy_.lost_worker_kept);
    }
  }
  return absl::OkStatus();
}

absl::Status WorkerRegistry::Restore(const WorkerRow& row) {
  if ((row.quarantine_end != absl::InfinitePast()) == row.quarantine_reason.empty()) {
    return absl::DataLossError(absl::StrCat("worker ", row.name,
                                            " is in quarantine without a reason, or has a reason ",
                                            "without being in quarantine"));
  }
  if (roster_.Find(row.name) != nullptr) {
    return absl::DataLossError(absl::StrCat("worker ", row.name, " stands twice"));
  }
  WorkerInfo info;
  info.name = row.name;
  info.incarnation = row.incarnation;
  info.capacity = Resources{.cpu_millis = 0};
  Worker& worker = roster_.Add(std::move(info));
  worker.holder = places_.running.AddHolder(row.name, row.incarnation);
  worker.drain_asked = row.draining;
  worker.last_seen = row.last_seen;
  worker.left = worker.lost = row.incarnation.empty();
  roster_.SetDeadline(worker,
                      turn_.now() + (worker.left ? policy_.lost_worker_kept : policy_.lease));
  worker.quarantine_span = row.quarantine_span;
  if (row.quarantine_end != absl::InfinitePast()) {
    // The clock may have been set back: no quarantine lasts longer than its span.
    roster_.BeginQuarantine(worker, std::min(row.quarantine_end, turn_.now() + row.quarantine_span),
                            row.quarantine_reason);
  }
  return absl::OkStatus();
}

void WorkerRegistry::Assign(Worker& worker, AttemptId id, Assignment assignment) {
  if (const Services::Instance* instance = book_.services().Find(worker.info.name, id)) {
    assignment.owner = book_.services().Get(instance->service).owner;
    book_.owners().AddAttempt(*assignment.owner, assignment.resources, id.job.IsService());
  } else if (book_.HasJob(id.job)) {
    assignment.owner = book_.SweepOf(id.job).owner;
    book_.owners().AddAttempt(*assignment.owner, assignment.resources, id.job.IsService());
    assignment.is_short = IsShort(book_.SweepOf(id.job).LaneOf(id.job.index).group);
  }
  if (assignment.uses != NamedResources::kUnknown && book_.HasJob(id.job)) {
    const ReadyQueue::Lane lane = book_.SweepOf(id.job).LaneOf(id.job.index);
    assignment.uses = lane.uses;
    assignment.services = lane.services;
  }
  book_.services().AddUser(worker.info.name, assignment.services);
  book_.resources().Take(assignment.uses, assignment.owner);
  if (assignment.ahead) {
    ++book_.SweepOf(id.job).queued;
  }
  assignment.time_left_at = turn_.now();
  worker.assignments.Add(id, assignment);
}

void WorkerRegistry::Unassign(Worker& worker, AttemptId id) {
  const std::optional<Assignment> removed = worker.assignments.Remove(
      id, worker.info.capacity,
      [this](AttemptId started, const Assignment& assignment) {
        LeaveQueue(started.job, assignment);
      },
      worker.info.slots);
  if (!removed) {
    return;
  }
  if (removed->ahead) {
    LeaveQueue(id.job, *removed);
  }
  book_.resources().Return(removed->uses, removed->owner);
  book_.services().RemoveUser(worker.info.name, removed->services, turn_.now());
  if (const auto* instance = book_.services().Find(worker.info.name, id)) {
    // One of before a restart that was listed once may have ended, and been charged, before.
    if (removed->taken &&
        (instance->start_time || instance->charged_until > absl::InfinitePast())) {
      ChargeService(worker, id, FailureClass::kLost);
    }
    book_.services().RemoveInstance(id);
  }
  Release(id, *removed);
}

void WorkerRegistry::ChargeService(const Worker& worker, AttemptId id, FailureClass failure) {
  Services::Instance& instance = *book_.services().Find(worker.info.name, id);
  instance.charged_until = std::min(turn_.now(), worker.lease_expire);
  JobResult use;
  use.failure = failure;
  use.start_time = instance.start_time.value_or(Services::TimeOf(id.attempt));
  if (book_.HasJob(id.job.ServedJob())) {
    const absl::Time created = book_.SweepOf(id.job).row.create_time;
    if (created < instance.charged_until) {  // else the clock was set back since
      use.start_time = std::max(use.start_time, created);
    }
  }
  use.run_time = std::max(instance.charged_until - use.start_time, absl::ZeroDuration());
  PutServiceUse(book_, worker.info.name, id, std::move(use), turn_.batch());
}

void WorkerRegistry::EndService(Worker& worker, const FinishedAttempt& finished) {
  const JobResult& result = finished.result;
  const bool is_its_own = book_.services().Find(worker.info.name, finished.id) != nullptr;
  if (result.run_time > absl::ZeroDuration() &&
      (is_its_own || !book_.services().Contains(finished.id))) {
    JobResult use;
    use.failure = result.failure;
    use.exit_code = result.exit_code;
    use.start_time = result.start_time;
    use.run_time = result.run_time;
    use.message = result.message;
    PutServiceUse(book_, worker.info.name, finished.id, std::move(use), turn_.batch());
  }
  if (is_its_own) {
    book_.services().RemoveInstance(finished.id);  // Unassign charges it no more
  }
  Unassign(worker, finished.id);
}

// Its owner and its sweep no longer wait for an attempt.
void WorkerRegistry::Release(AttemptId id, const Assignment& released) {
  if (released.owner) {
    book_.owners().RemoveAttempt(*released.owner, released.resources, id.job.IsService());
  }
  if (released.counted) {
    // A sweep that waits for this is not deleted before.
    SweepRecord& sweep = book_.SweepOf(id.job);
    CONCUR_CHECK(sweep.stopping > 0);
    if (--sweep.stopping == 0) {
      turn_.AnnounceSweep(id.job.sweep);
      book_.UpdateEnd(sweep);
    }
  }
}

// An attempt that was given ahead starts, or goes.
void WorkerRegistry::LeaveQueue(JobId id, const Assignment& assignment) {
  if (!assignment.stopping) {  // else it left when that was ordered
    SweepRecord& sweep = book_.SweepOf(id);
    CONCUR_CHECK(sweep.queued > 0);
    --sweep.queued;
    turn_.AnnounceSweep(id.sweep);
  }
}

void WorkerRegistry::Stop(Worker& worker, AttemptId id, StopReason reason, bool counted) {
  const Assignment assignment = *worker.assignments.Find(id);
  if (book_.services().Find(worker.info.name, id) != nullptr) {
    book_.services().SetStopping(id);
  }
  if (worker.assignments.Stop(id, reason, policy_.overdue_grace, counted)) {
    if (counted) {
      ++book_.SweepOf(id.job).stopping;
    }
    if (assignment.ahead) {
      LeaveQueue(id.job, assignment);
    }
  }
}

void WorkerRegistry::StopAttempt(JobId id, StopReason reason, bool counted) {
  const RunningJobs::Lease* lease = places_.running.Find(id);
  CONCUR_CHECK(lease != nullptr);
  Worker* worker = roster_.Find(places_.running.WorkerOf(lease->holder));
  CONCUR_CHECK(worker != nullptr);
  Stop(*worker, AttemptId{id, {book_.JobOf(id).attempt}}, reason, counted);
}

void WorkerRegistry::StopService(uint32_t service) {
  const auto live = book_.services().Get(service).live;  // Stop takes them out
  for (const auto& [worker, id] : live) {
    Stop(*roster_.Find(worker), id, StopReason::kCanceled, /*counted=*/false);
  }
}

void WorkerRegistry::Abandon(Worker& worker, AttemptId id) {
  const Assignment abandoned = worker.assignments.Abandon(id);
  if (abandoned.owner) {  // the units stay held: it may still run
    book_.resources().Disown(abandoned.uses, *abandoned.owner);
  }
  Release(id, abandoned);
}

const Worker* WorkerRegistry::FindSilent() const {
  const auto silent = std::find_if(roster_.begin(), roster_.end(), [](const auto& entry) {
    return !entry.second->lost && !entry.second->sequence;
  });
  return silent == roster_.end() ? nullptr : silent->second.get();
}

absl::Duration WorkerRegistry::TimeMaxOf(const SweepRecord& sweep, uint32_t job) const {
  return sweep.ApproachOf(job).TimeoutOf(sweep.expansion->Locate(job).is_train) +
         policy_.overdue_grace;
}

bool WorkerRegistry::IsShort(Durations::Group group) const {
  return places_.durations.RankOf(group) <= Durations::RankOf(policy_.ahead_job_max);
}

bool WorkerRegistry::HasTimeFor(const Worker& worker, Durations::Group group) const {
  if (worker.end_time == absl::InfiniteFuture()) {
    return true;
  }
  const absl::Duration left = worker.end_time - turn_.now();
  const auto expected = places_.durations.Expected(group);
  if (!expected) {
    return left > absl::ZeroDuration();  // somebody must find out
  }
  const absl::Duration careful = std::min(
      kTimeCare * expected->mean, std::max(expected->mean, kWholeShare * worker.whole_time));
  return careful <= left;
}

bool WorkerRegistry::CouldRun(const Worker& worker, const ReadyQueue::Lane& lane) const {
  const Resources request = RequestOf(lane);
  return worker.TakesJobs(turn_.now()) && request.FitsIn(worker.info.capacity) &&
         request.GpuCount() >= GpusMin(worker.info.labels) &&
         (lane.services == 0 || worker.info.takes_services) &&
         book_.label_sets().Match(lane.labels, worker.info.labels) &&
         HasTimeFor(worker, lane.group);
}

Resources WorkerRegistry::RequestOf(const ReadyQueue::Lane& lane) const {
  return Together(lane.resources, book_.services().ResourcesOf(lane.services));
}

size_t WorkerRegistry::WaitingFor(uint32_t service) const {
  const Services& services = book_.services();
  const auto& alone = places_.suspects.ready();
  auto waiting =
      static_cast<size_t>(std::count_if(alone.begin(), alone.end(), [&](const JobId& id) {
        const SweepRecord& sweep = book_.SweepOf(id);
        return !sweep.IsHeld() && services.Contains(sweep.LaneOf(id.index).services, service);
      }));
  for (const uint32_t set : services.Get(service).sets) {
    waiting += places_.ready.CountOf(set);
  }
  return waiting;
}

bool WorkerRegistry::MayStartService(const ReadyQueue::Lane& lane, uint32_t number) const {
  const Services::Service& service = book_.services().Get(number);
  // After a restart a worker that has not called may run one.
  if (service.next_start > turn_.now() || FindSilent() != nullptr) {
    return false;
  }
  size_t places = 0;
  for (const auto& [name, id] : service.live) {
    const Worker& worker = *roster_.Find(name);
    places += CouldRun(worker, lane) && book_.services().HasAll(name, lane.services)
                  ? service.spec.serves
                  : 0;
  }
  const auto expected = places_.durations.Expected(lane.group);
  return places == 0 || (service.load && expected &&
                         expected->mean * static_cast<double>(WaitingFor(number)) >
                             *service.load * static_cast<double>(places));
}

void WorkerRegistry::AddLocalJobs(const SweepRecord& sweep, uint32_t train_job, Worker& worker) {
  for (uint32_t eval = train_job + 1; eval < sweep.expansion->EndOfCell(train_job); ++eval) {
    if (sweep.jobs[eval].state() == JobState::kReady) {
      worker.local.insert(sweep.IdOf(eval));
    }
  }
  while (worker.local.size() > kLocalJobsMax) {
    worker.local.erase(worker.local.begin());  // the oldest sweep's first jobs
  }
}

Blame::Kind WorkerRegistry::KindOf(const SweepRecord& sweep, uint32_t job) const {
  const Durations::Group group = sweep.GroupOf(job);
  return {.sweep = sweep.row.id,
          .approach = places_.durations.approach(group),
          .benchmark = places_.durations.benchmark(group),
          .is_train = places_.durations.is_train(group)};
}

void WorkerRegistry::RecordSuccess(const SweepRecord& sweep, uint32_t job,
                                   const std::string& worker) {
  for (const std::string& suspect :
       blame_.AddSuccess(KindOf(sweep, job), sweep.IdOf(job), worker, turn_.now())) {
    Judge(suspect);
  }
}

void WorkerRegistry::RecordFailure(const SweepRecord& sweep, uint32_t job,
                                   const std::string& worker, FailureClass failure) {
  if (sweep.jobs[job].state() == JobState::kFailed) {  // there is nothing to compare it with
    blame_.Mend(sweep.IdOf(job));
  } else if (CountsForBlame(failure)) {
    blame_.AddFailure(KindOf(sweep, job), sweep.IdOf(job), worker);
    Judge(worker);
  }
}

// A worker is given nothing new for a while when others succeed at what it fails. Not the last one
// that takes jobs: a bad worker is better than none.
void WorkerRegistry::Judge(const std::string& name) {
  Worker* worker = roster_.Find(name);
  if (worker == nullptr || policy_.quarantine_failures == 0 ||
      worker->quarantine_end != absl::InfinitePast()) {
    return;
  }
  // After a restart of the coordinator a worker's machine is known once it has called.
  const auto is_elsewhere = [&](const std::string& other) {
    const Worker* compared = roster_.Find(other);
    return compared != nullptr && compared->sequence && worker->sequence &&
           (compared->info.host.empty() || compared->info.host != worker->info.host);
  };
  const Blame::Suspicion suspicion = blame_.SuspicionOf(name, is_elsewhere);
  if (suspicion.jobs < policy_.quarantine_failures ||
      !roster_.HasOtherThatTakesJobs(name, turn_.now())) {
    return;
  }
  const Blame::Kind& example = *suspicion.kinds.begin();
  const size_t others = suspicion.kinds.size() - 1;
  worker->quarantine_span = worker->quarantine_span == absl::ZeroDuration()
                                ? policy_.quarantine_min
                                : std::min(worker->quarantine_span * 2, policy_.quarantine_max);
  roster_.BeginQuarantine(
      *worker, turn_.now() + worker->quarantine_span,
      absl::StrCat("failed ", suspicion.jobs, suspicion.jobs == 1 ? " job" : " jobs",
                   " that succeeded on ", absl::StrJoin(suspicion.succeeded, ", "), ": ",
                   example.is_train ? "train" : "eval", " jobs of ", example.approach, " on ",
                   example.benchmark,
                   others == 0   ? ""
                   : others == 1 ? " and 1 other kind"
                                 : absl::StrCat(" and ", others, " other kinds")));
  Save(*worker);
}

void WorkerRegistry::EndQuarantine(Worker& worker) {
  blame_.Pardon(worker.info.name);
  if (roster_.EndQuarantine(worker)) {
    Save(worker);
  }
}

std::vector<BlameRow> WorkerRegistry::ListBlame() const {
  std::vector<BlameRow> rows;
  blame_.ForEach(
      [&](const Digest& key, const Blame::Kind& kind, const std::string& worker,
          const Blame::Cell& cell) { rows.push_back(BlameRowOf(key, kind, worker, cell)); });
  std::sort(rows.begin(), rows.end(),
            [](const BlameRow& a, const BlameRow& b) { return a.Key() < b.Key(); });
  return rows;
}

void WorkerRegistry::SaveBlame() {
  blame_.TakeChanged([&](const Digest& key, const Blame::Kind& kind, const std::string& worker,
                         const Blame::Cell& cell) {
    turn_.batch().put_blames.push_back(BlameRowOf(key, kind, worker, cell));
  });
}

absl::Status WorkerRegistry::RestoreBlame(const BlameRow& row) {
  if (roster_.Find(row.worker) == nullptr || !book_.Knows(row.sweep) ||
      !blame_.Restore(row.kind, {row.sweep, row.approach, row.benchmark, row.is_train}, row.worker,
                      {row.failures, row.success_time})) {
    return absl::DataLossError(absl::StrCat("what worker \"", row.worker, "\" did of approach \"",
                                            row.approach, "\" on benchmark \"", row.benchmark,
                                            "\" contradicts other rows"));
  }
  return absl::OkStatus();
}

void WorkerRegistry::CheckInvariants() const {
  roster_.CheckInvariants();
  size_t running = 0;
  std::map<SweepId, uint32_t> stopping;
  std::map<SweepId, uint32_t> queued;
  size_t instances = 0;
  for (const auto& [name, worker] : roster_) {
    absl::btree_map<uint32_t, size_t> users;
    for (const auto& [id, assignment] : worker->assignments.all()) {
      for (const uint32_t service : book_.services().SetOf(assignment.services)) {
        ++users[service];
      }
      if (const Services::Instance* instance = book_.services().Find(name, id)) {
        CONCUR_CHECK(instance->stopping == assignment.stopping);
        ++instances;
      }
      if (assignment.counted) {
        ++stopping[id.job.sweep];
      }
      if (assignment.stopping || id.job.IsService()) {
        continue;
      }
      ++running;
      queued[id.job.sweep] += assignment.ahead ? 1 : 0;
      const RunningJobs::Lease* lease = places_.running.Find(id.job);
      CONCUR_CHECK(lease != nullptr);
      CONCUR_CHECK(book_.JobOf(id.job).attempt == id.attempt.number);
      CONCUR_CHECK(places_.running.WorkerOf(lease->holder) == name);
      CONCUR_CHECK(lease->gpu_mask == assignment.gpu_mask);
    }
    for (const auto& [service, count] : users) {
      CONCUR_CHECK(book_.services().UsersOn(name, service) == count);
    }
  }
  book_.services().CheckInvariants();
  CONCUR_CHECK(instances == book_.services().instances().size());
  CONCUR_CHECK(running == places_.running.size());
  for (const auto& [id, sweep] : book_.all()) {
    CONCUR_CHECK(sweep->queued == queued[id]);
    CONCUR_CHECK(sweep->stopping == stopping[id]);
    stopping.erase(id);
  }
  CONCUR_CHECK(stopping.empty());
  blame_.CheckInvariants();
  blame_.ForEach(
      [&](const Digest&, const Blame::Kind& kind, const std::string& worker, const Blame::Cell&) {
        CONCUR_CHECK(roster_.Find(worker) != nullptr && book_.Knows(kind.sweep));
      });
  CheckOwners();
  CheckUnits();
}

void WorkerRegistry::CheckUnits() const {
  NamedResources recount = book_.resources().Unheld();
  for (const auto& [name, worker] : roster_) {
    for (const auto& [id, assignment] : worker->assignments.all()) {
      recount.Take(assignment.uses, assignment.owner);
    }
  }
  for (const auto& [id, left] : book_.left_out()) {
    if (left.MayHoldUnits()) {
      recount.Take(NamedResources::kUnknown, std::nullopt);
    }
  }
  book_.resources().CheckInvariants(recount);
}

void WorkerRegistry::CheckOwners() const {
  OwnerLedger recount(policy_.quotas);
  for (const auto& [name, worker] : roster_) {
    for (const auto& [id, assignment] : worker->assignments.all()) {
      if (assignment.owner) {
        recount.AddAttempt(recount.Add(book_.owners().name(*assignment.owner)),
                           assignment.resources, id.job.IsService());
      }
    }
  }
  for (const auto& [id, sweep] : book_.all()) {
    const uint32_t owner = recount.Add(sweep->row.owner);
    recount.AddData(owner, sweep->expansion->spec());
    recount.AddJobs(owner, sweep->jobs.size());
    for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
      recount.AddBytes(owner, sweep->StoredBytesOf(job));
    }
    for (const auto& [job, checkpoint] : sweep->checkpoints) {
      recount.AddCheckpointBytes(owner, checkpoint.bytes);
    }
  }
  for (const auto& [id, sweep] : book_.erased()) {
    for (uint32_t job = sweep->next_erased; job < sweep->jobs.size(); ++job) {
      recount.AddBytes(recount.Add(sweep->row.owner), sweep->StoredBytesOf(job));
    }
  }
  for (const auto& [id, left] : book_.left_out()) {
    const uint32_t owner = recount.Add(left.row.owner);
    recount.AddData(owner, left.expansion->spec());
    recount.AddJobs(owner, left.expansion->job_count());
  }
  book_.owners().CheckInvariants(recount);
}

}  // namespace concur
