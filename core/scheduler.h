// SPDX-License-Identifier: Apache-2.0
// A Scheduler decides which job runs where, and keeps account of every result. It does no I/O,
// reads no clock and starts no thread: callers pass the time in and carry out the Effects.
//
// One turn of its owner: AdvanceTo(now); then any number of requests; then Dispatch(); then
// TakeEffects() and save the batch; only then answer anybody. What a worker is to do is read with
// TakeOrders() after Dispatch().
//
// Its state lives in small classes, each with invariants of its own: SweepRecord (with JobTable and
// FailureTallies) for each sweep; ReadyQueue, Leases, Backoffs, ReuseIndex and Durations for jobs
// by their states; Roster (with Assignments) and Blame for workers; OwnerLedger and LabelSets. The
// scheduler moves jobs between them; its files are divided by what happens, as the list of private
// methods shows.
//
// Thread-compatible; owned by the Engine's thread. Deterministic: the same calls give the same
// effects, whatever the process or machine.
#ifndef CONCUR_CORE_SCHEDULER_H_
#define CONCUR_CORE_SCHEDULER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/autoscaler.h"
#include "core/backoffs.h"
#include "core/blame.h"
#include "core/durations.h"
#include "core/early_stop.h"
#include "core/expansion.h"
#include "core/failure_tallies.h"
#include "core/ids.h"
#include "core/imported_results.h"
#include "core/job.h"
#include "core/job_table.h"
#include "core/label_sets.h"
#include "core/labels.h"
#include "core/leases.h"
#include "core/owner_ledger.h"
#include "core/policy.h"
#include "core/ready_queue.h"
#include "core/reuse_index.h"
#include "core/roster.h"
#include "core/rows.h"
#include "core/suspects.h"
#include "core/sync.h"
#include "core/work_meter.h"

namespace concur {

struct SweepRecord;

// A change of one job, for watchers.
struct JobEvent {
  JobId id;
  JobState state = JobState::kReady;
  Attempt attempt;
  std::string worker;
  FailureClass failure = FailureClass::kNone;
  std::string message;
  bool reused = false;
};

// What a turn changed: rows to save before anybody is answered, and changes to announce then.
struct Effects {
  Batch batch;
  std::vector<JobEvent> events;             // in the order in which they happened
  absl::btree_set<SweepId> changed_sweeps;  // whose state or counts changed
};

// What a worker is to be answered now.
struct WorkerOrders {
  struct Start {
    AttemptId id;
    uint64_t gpu_mask = 0;
    Digest system;  // of its source (core/expansion.h)
    int64_t system_bytes = 0;
    std::optional<Checkpoint> checkpoint;  // of the job's earlier attempts
  };
  std::vector<Start> start;
  std::vector<StopOrder> stop;
  std::vector<ForgetOrder> forget;
  bool drain = false;
};

// A job as people see it.
struct JobView {
  JobId id;
  JobState state = JobState::kReady;
  Attempt attempt;
  uint32_t failures = 0;
  uint32_t lost = 0;
  uint32_t deaths = 0;  // of its workers while it ran, in a row
  FailureClass failure = FailureClass::kNone;
  absl::Time not_before = absl::InfinitePast();
  std::string worker;
  std::optional<JobId> reused_from;
  bool system_collected = false;  // its system was removed by retention
  uint32_t steps = 0;             // that counted, of ReporterOf the job
  // Of a train job that early_stop compares with others: what it says of it, and its rung.
  std::optional<EarlyStop::State> early_stop;
  size_t rung = 0;
  std::optional<Checkpoint> checkpoint;  // what its next attempt goes on from
  const JobResult* result = nullptr;     // valid until the next change of the scheduler
};

struct SweepView {
  const SweepRow* row = nullptr;
  const Expansion* expansion = nullptr;
  SweepState state = SweepState::kActive;
  StateCounts counts{};
  uint32_t reused = 0;
  uint32_t queued = 0;  // of the RUNNING jobs: given ahead, they start when something ends
  OwnerUse owner_use;   // by all sweeps of its owner
  RecentWork recent;    // of what runs; the scheduler leaves it unknown
};

struct WorkerView {
  WorkerInfo info;
  bool draining = false;
  bool lost = false;
  // It said good-bye, and nobody wants anything of it: only what is held against it is remembered.
  bool left = false;
  bool called = false;            // since this scheduler started
  std::string quarantine_reason;  // why it gets no jobs for a while; "" when it does
  absl::Time quarantine_end = absl::InfinitePast();
  absl::Duration quarantine_span;  // of the latest one; the next is longer
  Resources used;
  uint32_t running = 0;
  uint32_t queued = 0;  // given ahead: they start there when something ends
  uint64_t succeeded = 0;
  uint64_t failed = 0;
  absl::Time last_seen;
  absl::Time lease_expire;
  // When its machine is taken away, before which it hands back what it runs.
  absl::Time end_time = absl::InfiniteFuture();
};

// Everything at a glance.
struct Totals {
  std::array<uint64_t, kJobStates> jobs{};      // of all sweeps that are kept
  std::array<uint64_t, kSweepStates> sweeps{};  // by their state
  uint64_t workers_live = 0;                    // that take work
  uint64_t workers_draining = 0;
  uint64_t workers_lost = 0;
  // Of live and draining workers together.
  Resources capacity{.cpu_millis = 0};
  Resources used{.cpu_millis = 0};
  uint64_t refused_results = 0;
};

class Scheduler {
 public:
  explicit Scheduler(SchedulerPolicy policy);
  ~Scheduler();

  // Rebuilds the state that the snapshot was saved from. `expansions` are those of
  // snapshot.sweeps, in the same order. Running attempts get one lease from `now`. DataLoss when
  // the rows contradict each other.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Restore(
      SchedulerPolicy policy, Snapshot snapshot,
      std::vector<std::shared_ptr<const Expansion>> expansions, absl::Time now);

  // --- time -------------------------------------------------------------------------------------

  // Ends expired leases and back-offs; attempts become overdue with a Sync of their worker.
  // REQUIRES: now >= the time of the previous call; every other
  // method acts at the time of the last AdvanceTo.
  void AdvanceTo(absl::Time now);
  // Every live worker's lease begins anew at `now`: after a time in which no call could arrive.
  // REQUIRES: as AdvanceTo.
  void GrantLeases(absl::Time now);
  // When AdvanceTo next has something to do; InfiniteFuture when never.
  absl::Time NextDeadline() const;

  // --- users ------------------------------------------------------------------------------------

  struct Submission {
    std::string owner;
    std::string request_id;
    std::string spec;                            // encoded, for the store
    std::shared_ptr<const Expansion> expansion;  // shared with views that outlive a turn
    // What the owner has uploaded beside this sweep's data and no sweep uses: it counts, too.
    int64_t unclaimed_bytes = 0;
  };
  // Adds a sweep, or returns the one that the owner submitted before with the same request id.
  // Cells that are finished in any sweep are reused at once.
  // REQUIRES: it is not of imported results.
  absl::StatusOr<SweepId> Submit(Submission submission);
  // The same for results that were computed elsewhere: adds a sweep that has ended. Jobs without a
  // result are canceled. InvalidArgument, with nothing added, as of ValidateImportedResults.
  // REQUIRES: the sweep's spec says that they are imported.
  absl::StatusOr<SweepId> Import(Submission submission, std::vector<ImportedResult> results);
  // NotFound; FailedPrecondition when the sweep has ended.
  absl::Status PauseSweep(SweepId id);
  absl::Status ResumeSweep(SweepId id);
  // Ends every unfinished job. OK when it has ended already. NotFound.
  absl::Status CancelSweep(SweepId id);
  // Ends one job, and with a train job all that waits for its system; others that waited for its
  // result run themselves. OK when it has ended already. NotFound.
  absl::Status CancelJob(JobId id);
  // NotFound; FailedPrecondition unless it has ended.
  absl::Status DeleteSweep(SweepId id);
  // Returns failed, skipped and canceled jobs (all, or those listed) to the queue with fresh retry
  // counts, and of the listed ones those that early_stop has stopped, which then train to their
  // end; with `rerun_succeeded` also the listed jobs that succeeded, and what was made from the
  // systems of listed train jobs. Returns how many run again. NotFound; InvalidArgument for an
  // index out of range; FailedPrecondition, with nothing changed, while a canceled sweep still
  // stops attempts, or when something unfinished would have to be run again.
  absl::StatusOr<uint32_t> RetryJobs(SweepId id, const std::vector<uint32_t>& jobs,
                                     bool rerun_succeeded);
  // Notes how long the sweep was expected to take when it was submitted. The first note stays.
  // NotFound.
  absl::Status RecordForecast(SweepId id, absl::Duration makespan);
  // OK when the owner may add a sweep with this data; ResourceExhausted, with the numbers, when the
  // quota on stored bytes forbids it. Submit asks the same.
  absl::Status CheckQuota(const std::string& owner, const SweepSpec& spec,
                          int64_t unclaimed_bytes) const {
    return owners_.CheckQuota(owner, spec, unclaimed_bytes);
  }
  // How many more bytes the owner may store; nullopt: any number.
  std::optional<int64_t> FreeBytesOf(const std::string& owner) const {
    return owners_.FreeBytesOf(owner);
  }
  OwnerUse UseOf(const std::string& owner) const { return owners_.UseOf(owner); }
  // The worker takes nothing new until undone; undoing also ends its quarantine and forgets what it
  // failed. NotFound.
  absl::Status DrainWorker(const std::string& name, bool drain);
  // Train jobs whose systems retention has removed: no new job can read them. Names every
  // job that shares a removed system. Jobs that have not succeeded are passed over.
  // REQUIRES: no job that reads them is unfinished.
  void MarkSystemsCollected(const std::vector<JobId>& train_jobs);

  // --- workers ----------------------------------------------------------------------------------

  // Applies a worker's state. Aborted: this or a later Sync of this incarnation was applied;
  // AlreadyExists: another live process has this name; InvalidArgument: no name or incarnation;
  // ResourceExhausted: a new worker beyond the policy's limit.
  absl::Status Sync(const SyncRequest& request);
  // Gives ready jobs to parked workers: those that have synced since their last TakeOrders.
  void Dispatch();
  // Whether TakeOrders has any order; false of a worker that is not known.
  bool HasOrders(const std::string& worker) const;
  // What to answer a worker's Sync; from now on it is not parked. Nothing for a worker that is not
  // known.
  WorkerOrders TakeOrders(const std::string& worker);
  // A parked call went away: the worker gets no jobs until it syncs again.
  void DropParkedCall(const std::string& worker);

  // What changed since the last call.
  Effects TakeEffects();

  // --- views ------------------------------------------------------------------------------------

  // nullopt when there is no such sweep.
  std::optional<SweepView> FindSweep(SweepId id) const;
  // For readers that outlive a turn. REQUIRES: the sweep exists.
  std::shared_ptr<const Expansion> SharedExpansion(SweepId id) const;
  // The newest sweep of this name; nullopt.
  std::optional<SweepId> FindSweepByName(const std::string& name) const;
  std::vector<SweepId> ListSweeps() const;  // ascending
  size_t sweep_count() const { return sweeps_.size(); }
  // REQUIRES: the job exists.
  JobView ViewJob(JobId id) const;
  JobState JobStateOf(JobId id) const;  // cheaper than a view
  // The job whose reports belong to this one: itself, or, for one that shares a result, the job
  // that made it. nullopt when that job is gone or has been run again. REQUIRES: the job exists.
  std::optional<JobId> ReporterOf(JobId id) const;
  bool HasJob(JobId id) const;
  std::vector<WorkerView> ListWorkers() const;  // by name
  // The jobs whose workers died while they ran, in order.
  std::vector<std::pair<JobId, Suspects::Deaths>> ListDeaths() const;
  // What is remembered of workers' failures and successes, by BlameRow::Key.
  std::vector<BlameRow> ListBlame() const;
  // Why a job waits, failed, was reused or was refused, in words.
  std::string Explain(JobId id) const;
  // Of an eval job or a train job: its content key.
  Digest ContentKeyOf(JobId id) const;
  uint64_t refused_results() const { return refused_results_; }
  // Takes time by the number of sweeps and workers, not of jobs.
  Totals CountAll() const;
  size_t ready_jobs() const { return ready_.size(); }
  // How long jobs took that have succeeded.
  const Durations& durations() const { return durations_; }
  // What jobs of the sweeps known now are expected to take as long as none of their kind has ended.
  void SetExpectedDurations(
      absl::FunctionRef<absl::Duration(absl::string_view approach, absl::string_view benchmark,
                                       bool is_train)>
          expected);
  // Jobs that could run now and those that do, by what they ask of a worker, for pools. Jobs of
  // paused sweeps and on workers that take nothing new are left out.
  std::vector<DemandClass> Demand() const;

  // Ends the process when any two parts of the state contradict each other.
  void CheckInvariants() const;

 private:
  // scheduler.cc: sweeps
  absl::StatusOr<std::optional<SweepId>> FindRequest(const Submission& submission) const;
  absl::StatusOr<SweepId> AddNewSweep(Submission submission);
  absl::Status AddSweep(SweepRow row, std::shared_ptr<const Expansion> expansion);
  absl::StatusOr<SweepRecord*> MutableSweep(SweepId id);
  SweepRecord& SweepOf(JobId id);
  const SweepRecord& SweepOf(JobId id) const;
  const JobTable::Job& JobOf(JobId id) const;
  bool HasSystem(JobId job) const;
  bool IsBetterSource(JobId job, JobId other) const;
  void Touch(JobId id) { dirty_jobs_.insert(id); }
  void TouchSweep(const SweepRecord& sweep);
  bool RetryJob(SweepRecord& sweep, uint32_t job, bool rerun_succeeded, bool is_listed);
  JobState EndCanceled(SweepRecord& sweep, uint32_t job);
  void CancelWithDependents(SweepRecord& sweep, uint32_t job, absl::string_view why);

  // scheduler_jobs.cc: the life of a job
  void SetState(SweepRecord& sweep, uint32_t job, JobState state);
  void LeaveState(SweepRecord& sweep, uint32_t job);
  void EnterBackoff(SweepRecord& sweep, uint32_t job, absl::Time not_before);
  void EnterRunning(SweepRecord& sweep, uint32_t job, const Leases::Lease& lease);
  void UpdateEnd(SweepRecord& sweep);
  void Announce(const SweepRecord& sweep, uint32_t job, absl::string_view message = "");
  void PutResult(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void DropResult(SweepRecord& sweep, uint32_t job);
  void Succeed(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void AfterSuccess(SweepRecord& sweep, uint32_t job);
  // `is_charged`: a lost attempt counts towards the job's budget.
  void Fail(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder,
            bool is_charged = true);
  void FailForGood(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void SkipDependents(SweepRecord& sweep, uint32_t job);
  void TakeCheckpoint(SweepRecord& sweep, uint32_t job, const FinishedAttempt& finished);
  void PutCheckpoint(SweepRecord& sweep, uint32_t job, const Checkpoint& checkpoint);
  void DropCheckpoint(SweepRecord& sweep, uint32_t job);
  void LoseAttempt(JobId id, FailureClass failure, const std::string& message);
  // Its worker died; whether another job may have run beside it there.
  void LoseAttemptByDeath(JobId id, bool shared, const std::string& message);
  void EnterReady(SweepRecord& sweep, uint32_t job);
  void AddToIndex(const SweepRecord& sweep, uint32_t job, const Digest& key);
  void RemoveFromIndex(const SweepRecord& sweep, uint32_t job);
  bool TryReuse(SweepRecord& sweep, uint32_t job, const Digest& key);
  void ReuseFinishedCells(SweepRecord& sweep);
  void ReleaseFollowers(JobId leader);
  bool IsHopeless(const SweepRecord& sweep, const FailureTallies::Scope& scope) const;
  void Skip(SweepRecord& sweep, const FailureTallies::Scope& scope);
  void GiveUpEarly(SweepRecord& sweep, uint32_t job);

  // scheduler_early_stop.cc: settings that train no further
  bool HasLetGo(const SweepRecord& sweep, uint32_t job) const;
  void NoteReport(SweepRecord& sweep, uint32_t job, const ReportedStep& step);
  void NoteChange(SweepRecord& sweep, uint32_t job, JobState before);
  void JudgeSettings();
  void JudgeGroup(SweepRecord& sweep, uint32_t group);
  void EndTraining(SweepRecord& sweep, uint32_t job, JobState state, absl::string_view why);
  void PauseTraining(SweepRecord& sweep, uint32_t job);
  void StopTraining(SweepRecord& sweep, uint32_t job);
  absl::Status RestoreEarlyStop(SweepRecord& sweep, const std::vector<StepRow>& reports);
  void CheckEarlyStop(const SweepRecord& sweep) const;
  std::string ExplainPaused(const SweepRecord& sweep, uint32_t job) const;
  std::string ExplainStopped(const SweepRecord& sweep, uint32_t job) const;

  // scheduler_workers.cc: what workers hold, their deadlines, quarantine
  void Assign(Worker& worker, AttemptId id, Assignment assignment);
  void LeaveQueue(JobId id, const Assignment& assignment);
  void Unassign(Worker& worker, AttemptId id);
  void StopAttempt(JobId id, StopReason reason, bool counted);
  absl::Duration TimeMaxOf(const SweepRecord& sweep, uint32_t job) const;
  void TakeBack(Worker& worker, AttemptId id);
  void Release(AttemptId id, const Assignment& released);
  void LoseWorker(Worker& worker, bool died, const std::string& message);
  void ForgetWorker(Worker& worker);
  void SaveWorker(const Worker& worker);
  Blame::Kind KindOf(const SweepRecord& sweep, uint32_t job) const;
  void RecordSuccess(const SweepRecord& sweep, uint32_t job, const std::string& worker);
  void RecordFailure(const SweepRecord& sweep, uint32_t job, const std::string& worker,
                     FailureClass failure);
  void JudgeWorker(const std::string& name);
  void EndQuarantine(Worker& worker);

  // scheduler_sync.cc: the exchange with workers
  absl::StatusOr<Worker*> Admit(const SyncRequest& request);
  void Reincarnate(Worker& worker, const SyncRequest& request);
  bool MayReport(const Worker& worker, AttemptId id) const;
  void ApplySteps(const Worker& worker, const std::vector<AttemptStep>& steps);
  void DropSteps(SweepRecord& sweep, uint32_t job);
  void ApplyFinished(Worker& worker, const FinishedAttempt& finished);
  bool WasPaused(const Worker& worker, AttemptId id) const;
  bool KeepStoppedAttempt(const Worker& worker, const FinishedAttempt& finished);
  void AcquitPaused(SweepRecord& sweep, uint32_t job);
  std::string SettleOnEqual(SweepRecord& sweep, uint32_t job, Worker& worker,
                            const JobResult& result);
  void AcceptResult(SweepRecord& sweep, uint32_t job, Worker& worker, JobResult result);
  void ApplyRunning(Worker& worker, AttemptId id);
  bool MayAdopt(const Worker& worker, AttemptId id) const;
  void ReturnAttempt(SweepRecord& sweep, uint32_t job);
  uint64_t GpusOfReturned(const Worker& worker, AttemptId id, const Resources& resources) const;

  // scheduler_dispatch.cc: which job goes where
  void Learn(const SweepRecord& sweep, uint32_t job);
  void Unlearn(const SweepRecord& sweep, uint32_t job);
  void GiveOut();
  absl::flat_hash_set<const Worker*> DispatchSuspects();
  Worker* WorkerForSuspect(const SweepRecord& sweep, uint32_t job,
                           const absl::flat_hash_set<const Worker*>& taken);
  bool RunsSuspect(const Worker& worker) const;
  bool DispatchOne(Worker& worker);
  // Whether jobs of the group are expected to take at most SchedulerPolicy::ahead_job_max.
  bool IsShort(Durations::Group group) const;
  bool DispatchAhead(Worker& worker);
  bool Give(Worker& worker, ReadyQueue::Accept accept, bool ahead);
  bool StartOn(Worker& worker, JobId id, bool ahead);
  std::optional<JobId> Choose(Worker& worker, ReadyQueue::Accept accept);
  std::optional<JobId> LocalChoice(Worker& worker, const ReadyQueue::Lane& like,
                                   ReadyQueue::Accept accept);
  bool HasTimeFor(const Worker& worker, Durations::Group group) const;
  void AddLocalJobs(const SweepRecord& sweep, uint32_t train_job, Worker& worker);

  // scheduler_explain.cc
  std::string ExplainReady(const SweepRecord& sweep, uint32_t job) const;
  std::string ExplainSkipped(const SweepRecord& sweep, uint32_t job) const;
  std::string ExplainNoReuse(JobId id) const;
  std::string ExplainOtherRuns(JobId id) const;

  // scheduler_restore.cc: from state to rows, and back
  JobRow RowOf(JobId id) const;
  static BlameRow RowOf(const Blame::Kind& kind, const std::string& worker,
                        const Blame::Cell& cell);
  absl::Status RestoreSweep(SweepRow row, std::shared_ptr<const Expansion> expansion);
  absl::Status RestoreWorker(const WorkerRow& row);
  absl::Status RestoreBlame(const BlameRow& row);
  absl::Status RestoreResult(ResultRow row);
  absl::Status RestoreSteps(StepSeriesRow row);
  absl::Status RestoreJob(const JobRow& row);
  absl::Status RestoreCheckpoint(const JobRow& row, SweepRecord& sweep);
  absl::Status RestoreRunning(const JobRow& row, SweepRecord& sweep, uint32_t holder);
  absl::Status FinishRestore();
  absl::Status FinishRestoreOf(SweepRecord& sweep, uint32_t job);

  // scheduler_check.cc
  void CheckJob(const SweepRecord& sweep, uint32_t job) const;
  void CheckWorkers() const;
  void CheckOwners() const;
  void CheckDurations() const;
  void CheckReuse() const;
  void CheckLeases() const;

  const SchedulerPolicy policy_;
  absl::Time now_ = absl::InfinitePast();
  uint64_t refused_results_ = 0;

  uint64_t next_sweep_number_ = 1;
  absl::btree_map<SweepId, std::unique_ptr<SweepRecord>> sweeps_;
  absl::flat_hash_map<std::pair<std::string, std::string>, SweepId> requests_;  // owner, id
  // Where jobs are besides their sweep, by state: READY in ready_, RUNNING in leases_, BACKOFF in
  // backoffs_, SUCCEEDED in reuse_ and durations_, BLOCKED perhaps in reuse_.
  ReadyQueue ready_;
  Leases leases_;
  Backoffs backoffs_;
  ReuseIndex reuse_;
  Durations durations_;

  Roster workers_;
  Blame blame_;
  std::string last_served_;  // worker that the last Dispatch ended with: turns are taken
  OwnerLedger owners_{policy_.quotas};
  Suspects suspects_{policy_.suspect_deaths};
  LabelSets label_sets_;
  absl::btree_set<std::pair<SweepId, uint32_t>> unjudged_;  // groups of early_stop that changed

  // What TakeEffects will report.
  absl::flat_hash_set<JobId> dirty_jobs_;
  absl::flat_hash_set<JobId> dirty_results_;
  absl::btree_set<SweepId> dirty_sweeps_;
  Effects pending_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_H_
