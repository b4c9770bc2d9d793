// A Scheduler decides which job runs where, and keeps account of every result. It does no I/O,
// reads no clock and starts no thread: callers pass the time in and carry out the Effects.
//
// One turn of its owner: AdvanceTo(now); then any number of requests; then Dispatch(); then
// TakeEffects() and save the batch; only then answer anybody. What a worker is to do is read with
// TakeOrders() after Dispatch().
//
// Thread-compatible; owned by the Engine's thread. Deterministic: the same calls give the same
// effects, whatever the process or machine.
#ifndef CONCUR_CORE_SCHEDULER_H_
#define CONCUR_CORE_SCHEDULER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/autoscaler.h"
#include "core/blame.h"
#include "core/content_key.h"
#include "core/durations.h"
#include "core/expansion.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/labels.h"
#include "core/policy.h"
#include "core/quota.h"
#include "core/ready_queue.h"
#include "core/rows.h"
#include "core/sync.h"

namespace concur {

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

// What a turn changed: rows to save before anybody is answered, and news to tell afterwards.
struct Effects {
  Batch batch;
  std::vector<JobEvent> events;             // in the order in which they happened
  absl::btree_set<SweepId> changed_sweeps;  // whose state or counts changed
};

// What there is to tell a worker now.
struct WorkerOrders {
  struct Start {
    AttemptId id;
    uint64_t gpu_mask = 0;
    Digest system;  // of the train job, for an eval job
    int64_t system_bytes = 0;
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
  FailureClass failure = FailureClass::kNone;
  absl::Time not_before = absl::InfinitePast();
  std::string worker;
  std::optional<JobId> reused_from;
  bool system_collected = false;      // its system was removed by retention
  const JobResult* result = nullptr;  // valid until the next change of the scheduler
};

struct SweepView {
  const SweepRow* row = nullptr;
  const Expansion* expansion = nullptr;
  SweepState state = SweepState::kActive;
  StateCounts counts{};
  uint32_t reused = 0;
  OwnerUse owner_use;  // by all sweeps of its owner
};

struct WorkerView {
  WorkerInfo info;
  bool draining = false;
  bool lost = false;
  std::string quarantine_reason;  // why it gets nothing for a while; "" when it does
  absl::Time quarantine_end = absl::InfinitePast();
  absl::Duration quarantine_span;  // of the latest one; the next is longer
  Resources used;
  uint32_t running = 0;
  uint32_t queued = 0;  // given ahead: they start there when something ends
  uint64_t succeeded = 0;
  uint64_t failed = 0;
  absl::Time last_seen;
  absl::Time lease_expire;
  // When it hands back what it runs, for its machine is taken away then.
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

  // Rebuilds the state that the snapshot was saved from. `expansions` are those of
  // snapshot.sweeps, in the same order. Running attempts get one lease from `now`. DataLoss when
  // the rows contradict each other.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Restore(
      SchedulerPolicy policy, Snapshot snapshot,
      std::vector<std::shared_ptr<const Expansion>> expansions, absl::Time now);

  // --- time -------------------------------------------------------------------------------------

  // Ends expired leases and back-offs. REQUIRES: now >= the time of the previous call; every other
  // method acts at the time of the last AdvanceTo.
  void AdvanceTo(absl::Time now);
  // Every live worker's lease begins anew at `now`: after a time in which nobody could be heard.
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
  };
  // Adds a sweep, or returns the one that the owner submitted before with the same request id.
  // Cells that are finished in any sweep are reused at once.
  absl::StatusOr<SweepId> Submit(Submission submission);
  // NotFound; FailedPrecondition when the sweep has ended.
  absl::Status PauseSweep(SweepId id);
  absl::Status ResumeSweep(SweepId id);
  // Ends every unfinished job. OK when it has ended already. NotFound.
  absl::Status CancelSweep(SweepId id);
  // NotFound; FailedPrecondition unless it has ended.
  absl::Status DeleteSweep(SweepId id);
  // Returns failed, skipped and canceled jobs (all, or those listed) to the queue with fresh retry
  // counts; with `rerun_succeeded` also the listed jobs that succeeded, and the eval jobs of listed
  // train jobs. Returns how many. NotFound; InvalidArgument for an index out of range;
  // FailedPrecondition, with nothing changed, while a canceled sweep still stops attempts, or when
  // something unfinished would have to be run again.
  absl::StatusOr<uint32_t> RetryJobs(SweepId id, const std::vector<uint32_t>& jobs,
                                     bool rerun_succeeded);
  // Notes how long the sweep was expected to take when it was submitted. The first note stays.
  // NotFound.
  absl::Status RecordForecast(SweepId id, absl::Duration makespan);
  // OK when the owner may add a sweep with this data; ResourceExhausted, with the numbers, when the
  // quota on stored bytes forbids it. Submit asks the same.
  absl::Status CheckQuota(const std::string& owner, const SweepSpec& spec) const;
  OwnerUse UseOf(const std::string& owner) const;
  // The worker takes nothing new until undone; undoing also ends its quarantine and forgets what it
  // failed. NotFound.
  absl::Status DrainWorker(const std::string& name, bool drain);
  // Train jobs whose systems retention has removed: they cannot serve new eval jobs. Names every
  // job that shares a removed system. Jobs that have not succeeded are passed over.
  // REQUIRES: no eval job of these cells is unfinished.
  void MarkSystemsCollected(const std::vector<JobId>& train_jobs);

  // --- workers ----------------------------------------------------------------------------------

  // Applies a worker's state. Aborted: this or a later Sync of this incarnation was applied;
  // AlreadyExists: another live process has this name; InvalidArgument: no name or incarnation;
  // ResourceExhausted: a new worker beyond the policy's limit.
  absl::Status Sync(const SyncRequest& request);
  // Gives ready jobs to workers that are listening: those that have synced since their last
  // TakeOrders.
  void Dispatch();
  // Whether TakeOrders has anything to say; false of a worker that is not known.
  bool HasOrders(const std::string& worker) const;
  // What to answer a worker's Sync; from now on it is not listening. Nothing for a worker that is
  // not known.
  WorkerOrders TakeOrders(const std::string& worker);
  // A parked call that went away: the worker is not listening until it syncs again.
  void StopListening(const std::string& worker);

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
  JobState JobStateOf(JobId id) const { return SlotOf(id).state; }  // cheaper than a view
  bool HasJob(JobId id) const;
  std::vector<WorkerView> ListWorkers() const;  // by name
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
  static constexpr uint32_t kNone = UINT32_MAX;
  // A back-off is so many times what it would be without jitter.
  static constexpr double kBackoffJitterMin = 0.75;
  static constexpr double kBackoffJitterMax = 1.25;
  enum Flag : uint8_t {
    kSettled = 1,          // the result of the latest attempt was accepted
    kReused = 2,           // SUCCEEDED with another job's result
    kSystemCollected = 4,  // train job whose system is gone
    kNoReuse = 8,          // somebody asked to run it again
  };
  // One job in 16 bytes.
  struct Slot {
    uint32_t attempt = 0;
    uint32_t result = kNone;  // into SweepRecord::results
    uint16_t failures = 0;
    uint16_t lost = 0;
    JobState state = JobState::kReady;
    FailureClass failure = FailureClass::kNone;
    uint8_t flags = 0;
  };
  struct StoredResult {
    JobResult result;
    uint32_t holder = kNone;  // into holders_
    JobId reused_from;        // valid when the slot has kReused
  };
  // Of jobs of one kind.
  struct Tally {
    uint32_t failed = 0;
    uint32_t succeeded = 0;

    friend bool operator==(const Tally&, const Tally&) = default;
  };
  struct SweepRecord {
    SweepRow row;
    std::shared_ptr<const Expansion> expansion;  // shared with the engine's readers
    std::unique_ptr<ContentKeys> keys;
    std::vector<Slot> slots;
    std::vector<StoredResult> results;
    std::vector<uint32_t> free_results;
    StateCounts counts{};
    uint32_t reused = 0;
    uint32_t stopping = 0;  // attempts that were canceled and that workers are still to stop
    uint32_t owner = 0;     // into owners_
    // Of each block: the group of its train jobs, if it has any, then those of its tests.
    std::vector<absl::InlinedVector<Durations::Group, 2>> groups;
    std::vector<absl::InlinedVector<Tally, 2>> tallies;  // the same, of its jobs
    // Likewise: into label_sets_. Empty when no job of the sweep asks for labels.
    std::vector<absl::InlinedVector<uint32_t, 2>> label_sets;
  };
  struct DataUse {
    int64_t bytes = 0;
    uint32_t sweeps = 0;
  };
  struct Owner {
    std::string name;
    int64_t used = 0;     // ShareOf what its attempts occupy now
    int64_t running = 0;  // how many these are
    int64_t stored_bytes = 0;
    Quota quota;
    absl::flat_hash_map<Digest, DataUse> data;  // of its sweeps
  };
  // A worker process that held or holds attempts. Interned: a slot's result names it by index.
  struct Holder {
    std::string worker;
    std::string incarnation;
  };
  struct Running {
    uint32_t holder = kNone;
    uint64_t gpu_mask = 0;
    Digest key;
  };
  // An attempt that occupies a worker, whatever became of its job.
  struct Held {
    Resources resources;
    uint64_t gpu_mask = 0;
    bool stopping = false;
    bool counted = false;  // in SweepRecord::stopping: its sweep's cancelation waits for it
    StopReason reason = StopReason::kCanceled;
    bool listed = false;  // by the worker's last Sync
    bool told = false;    // the order was in an answer since it last changed
    // Given ahead: it waits at the worker until something ends there, and occupies nothing yet.
    bool ahead = false;
    uint32_t owner = kNone;        // into owners_; kNone: of a job that is not known
    int64_t ahead_cpu_micros = 0;  // expected work, of one given ahead
  };
  // Who had the lease of an attempt that was lost, and may come back with it.
  struct LastHolder {
    uint32_t holder = kNone;
    uint64_t gpu_mask = 0;
  };
  struct WorkerRecord {
    WorkerInfo info;
    uint32_t holder = kNone;
    std::optional<uint64_t> sequence;  // of the last Sync; nullopt before this incarnation's first
    absl::Time last_seen;
    absl::Time lease_expire;
    absl::Time end_time = absl::InfiniteFuture();
    absl::Duration whole_time = absl::ZeroDuration();  // that it had left at its first Sync
    bool lost = false;
    bool drain_asked = false;  // by a user
    bool drain_self = false;   // by the worker
    bool drain_told = false;
    bool listening = false;
    // Nothing new until then: others succeed on what it fails.
    absl::Time quarantine_end = absl::InfinitePast();
    absl::Duration quarantine_span;  // of the latest one; the next is longer
    std::string quarantine_reason;
    absl::btree_map<AttemptId, Held> held;
    Resources used{.cpu_millis = 0};
    uint64_t gpus_used = 0;
    // GPUs of what it held when its lease ended: it may come back still using them.
    absl::flat_hash_map<AttemptId, uint64_t> lost_gpus;
    absl::btree_set<AttemptId> ahead;  // of `held`
    int64_t ahead_cpu_micros = 0;      // of all of them
    absl::btree_set<JobId> local;      // eval jobs whose systems it made; some may have started
    std::vector<ForgetOrder> forget;
    uint64_t succeeded = 0;
    uint64_t failed = 0;
  };

  // scheduler.cc: states
  absl::Status AddSweep(std::unique_ptr<SweepRecord> owned,
                        std::shared_ptr<const Expansion> expansion);
  absl::StatusOr<SweepRecord*> MutableSweep(SweepId id);
  bool RetryJob(SweepRecord& sweep, uint32_t job, bool rerun_succeeded);
  static void ChooseForRetry(const SweepRecord& sweep, uint32_t job, bool rerun_succeeded,
                             absl::btree_set<uint32_t>* chosen);
  absl::Status CheckSystemCanBeRemade(const SweepRecord& sweep, uint32_t job,
                                      bool rerun_succeeded) const;
  SweepRecord& SweepOf(JobId id);
  const SweepRecord& SweepOf(JobId id) const;
  Slot& SlotOf(JobId id) { return SweepOf(id).slots[id.index]; }
  const Slot& SlotOf(JobId id) const { return SweepOf(id).slots[id.index]; }
  ReadyQueue::Lane LaneOf(const SweepRecord& sweep, uint32_t job) const;
  SweepState StateOf(const SweepRecord& sweep) const;
  void SetState(SweepRecord& sweep, uint32_t job, JobState state);
  void LeaveState(SweepRecord& sweep, uint32_t job);
  void Touch(JobId id) { dirty_jobs_.insert(id); }
  void TouchSweep(const SweepRecord& sweep) { dirty_sweeps_.insert(sweep.row.id); }
  void Announce(const SweepRecord& sweep, uint32_t job, absl::string_view message = "");
  void UpdateEnd(SweepRecord& sweep);
  const JobResult* ResultOf(const SweepRecord& sweep, uint32_t job) const;
  void PutResult(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void DropResult(SweepRecord& sweep, uint32_t job);
  uint32_t HolderOf(const std::string& worker, const std::string& incarnation);

  // scheduler_results.cc: what becomes of a job
  void Succeed(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void Fail(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void FailForGood(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder);
  void AfterSuccess(SweepRecord& sweep, uint32_t job);
  void SkipDependents(SweepRecord& sweep, uint32_t job);
  void LoseAttempt(JobId id, FailureClass failure, const std::string& message);
  bool TryReuse(SweepRecord& sweep, uint32_t job, const Digest& key);
  void ReuseFinishedCells(SweepRecord& sweep);
  void ReuseCell(SweepRecord& sweep, uint32_t first_job, uint32_t end_job);
  void IndexResult(const SweepRecord& sweep, uint32_t job, const Digest& key);
  void UnindexResult(const SweepRecord& sweep, uint32_t job);
  bool NeedsSystem(const SweepRecord& sweep, uint32_t train_job) const;
  void EndAttempt(SweepRecord& sweep, uint32_t job, const JobResult& result, uint32_t holder);
  void ReleaseFollowers(JobId leader);
  bool SystemIsThere(JobId train_job) const;
  absl::Duration BackoffOf(const SweepRecord& sweep, uint32_t job) const;

  // scheduler_sync.cc: workers
  absl::StatusOr<WorkerRecord*> Admit(const SyncRequest& request);
  void ApplyFinished(WorkerRecord& worker, const FinishedAttempt& finished);
  void ApplyRunning(WorkerRecord& worker, AttemptId id);
  void AcceptResult(SweepRecord& sweep, uint32_t job, WorkerRecord& worker, JobResult result);
  void StartRunning(SweepRecord& sweep, uint32_t job, WorkerRecord& worker, uint64_t gpu_mask,
                    const Digest& key);
  bool MayAdopt(const WorkerRecord& worker, AttemptId id) const;
  void ReturnAttempt(SweepRecord& sweep, uint32_t job);
  uint64_t GpusOfReturned(const WorkerRecord& worker, AttemptId id) const;
  void Hold(WorkerRecord& worker, AttemptId id, Held held);
  void Release(WorkerRecord& worker, AttemptId id);
  void StopHeld(JobId id, StopReason reason);
  void LoseWorker(WorkerRecord& worker, FailureClass failure, const std::string& message);
  void ForgetWorker(const std::string& name);
  void SaveWorker(const WorkerRecord& worker);

  // scheduler_dispatch.cc: who gets what, when
  bool TakesJobs(const WorkerRecord& worker) const;
  bool DispatchOne(WorkerRecord& worker);
  bool DispatchAhead(WorkerRecord& worker);
  bool Give(WorkerRecord& worker, ReadyQueue::Accept accept, bool ahead);
  std::optional<JobId> Choose(WorkerRecord& worker, ReadyQueue::Accept accept);
  std::optional<JobId> LocalChoice(WorkerRecord& worker, const ReadyQueue::Lane& like,
                                   ReadyQueue::Accept accept);
  void Occupy(WorkerRecord& worker, const Held& held, int sign);
  void StartAheadThatFits(WorkerRecord& worker);
  Resources FreeOf(const WorkerRecord& worker) const;
  bool HasTimeFor(const WorkerRecord& worker, Durations::Group group) const;
  static int64_t ShareOf(const Held& held);
  uint32_t OwnerOf(const std::string& name);
  void FindGroups(SweepRecord& sweep);
  Durations::Group GroupOf(const SweepRecord& sweep, const JobCoordinates& at) const;
  void FindLabels(SweepRecord& sweep);
  uint32_t LabelSetOf(const SweepRecord& sweep, const JobCoordinates& at) const;
  bool HasLabelsFor(const WorkerRecord& worker, uint32_t label_set) const;
  void Learn(const SweepRecord& sweep, uint32_t job);
  void Unlearn(const SweepRecord& sweep, uint32_t job);
  void NoteLocal(const SweepRecord& sweep, uint32_t train_job, WorkerRecord& worker);
  void CheckDispatch() const;

  // scheduler_quota.cc: what owners use
  int64_t StoredBytesOf(const SweepRecord& sweep, uint32_t job) const;
  void ChargeResult(const SweepRecord& sweep, uint32_t job, int sign);
  void ChargeData(const SweepRecord& sweep, int sign);
  bool MayStart(uint32_t owner) const;
  std::string ExplainQuota(uint32_t owner) const;
  void CheckQuotas() const;

  // scheduler_blame.cc: blame before action
  void NoteSuccess(const SweepRecord& sweep, uint32_t job, const WorkerRecord& worker);
  void NoteFailure(const SweepRecord& sweep, uint32_t job, const WorkerRecord& worker,
                   FailureClass failure);
  void JudgeWorker(const std::string& name);
  void EndQuarantine(WorkerRecord& worker);
  void EndQuarantines();
  BlameRow BlameRowOf(Durations::Group group, const std::string& worker) const;
  void CheckBlame() const;

  // scheduler_give_up.cc: what of a sweep is given up early
  struct Scope;
  static Tally& TallyOf(SweepRecord& sweep, uint32_t job);
  static std::vector<Scope> ScopesOf(const SweepRecord& sweep, uint32_t job);
  static bool FailedAltogether(const SweepRecord& sweep, const Scope& scope, uint32_t* failed);
  bool IsHopeless(const SweepRecord& sweep, const Scope& scope, uint32_t failed) const;
  static std::string TextOf(const SweepRecord& sweep, const Scope& scope, uint32_t failed);
  void Skip(SweepRecord& sweep, const Scope& scope, const std::string& reason);
  void GiveUpEarly(SweepRecord& sweep, uint32_t job);
  static std::string ExplainGivenUp(const SweepRecord& sweep, uint32_t job);
  static std::vector<absl::InlinedVector<Tally, 2>> CountTallies(const SweepRecord& sweep);

  // scheduler_view.cc
  std::string ExplainReady(const SweepRecord& sweep, uint32_t job) const;
  std::string ExplainLabels(const Labels& wants) const;
  std::string ExplainNoReuse(JobId id) const;
  void CheckJob(const SweepRecord& sweep, uint32_t job) const;
  void CheckSweep(const SweepRecord& sweep) const;
  void CheckWorkers() const;
  void CheckSharing() const;

  // scheduler_restore.cc
  absl::Status RestoreSweep(SweepRow row, std::shared_ptr<const Expansion> expansion);
  JobRow RowOf(JobId id) const;
  absl::Status RestoreWorker(const WorkerRow& row);
  absl::Status RestoreBlame(const BlameRow& row);
  absl::Status RestoreJob(const JobRow& row);
  absl::Status RestoreRunning(const JobRow& row, SweepRecord& sweep, uint32_t holder);
  absl::Status FinishRestoreOf(SweepRecord& sweep, uint32_t job);
  absl::Status RestoreResult(ResultRow row);
  absl::Status FinishRestore();

  const SchedulerPolicy policy_;
  absl::Time now_ = absl::InfinitePast();
  uint64_t next_sweep_number_ = 1;
  absl::btree_map<SweepId, std::unique_ptr<SweepRecord>> sweeps_;
  absl::flat_hash_map<std::pair<std::string, std::string>, SweepId> requests_;  // owner, id
  ReadyQueue ready_;
  Durations durations_;
  // What jobs ask of workers' labels, each set once; the first is empty. Sets stay when their
  // sweeps go, as owners do.
  std::vector<Labels> label_sets_ = {Labels()};
  absl::btree_map<Labels, uint32_t> label_set_index_;
  std::vector<Owner> owners_;
  absl::flat_hash_map<std::string, uint32_t> owner_index_;
  absl::btree_set<std::pair<absl::Time, JobId>> backoffs_;
  absl::flat_hash_map<JobId, absl::Time> not_before_;
  absl::flat_hash_map<JobId, Running> running_;
  absl::flat_hash_map<JobId, LastHolder> last_holder_;  // unfinished jobs whose attempt was lost
  std::vector<Holder> holders_;
  absl::flat_hash_map<std::pair<std::string, std::string>, uint32_t> holder_index_;
  absl::btree_map<std::string, std::unique_ptr<WorkerRecord>> workers_;
  absl::btree_set<std::pair<absl::Time, std::string>> worker_deadlines_;
  absl::btree_set<std::pair<absl::Time, std::string>> quarantines_;  // by their ends
  Blame blame_;
  std::string last_served_;  // worker that the last Dispatch ended with: turns are taken

  // By content key, a succeeded job whose result can be shared: one with a system if there is any;
  // the others with that key, ascending; and the number of keys per block key.
  absl::flat_hash_map<Digest, JobId> finished_;
  absl::flat_hash_map<Digest, absl::InlinedVector<JobId, 1>> finished_others_;
  absl::flat_hash_map<Digest, uint32_t> finished_blocks_;
  // Jobs that wait because another job with their key is running.
  absl::flat_hash_map<Digest, JobId> in_flight_;
  absl::flat_hash_map<JobId, absl::btree_set<JobId>> followers_;  // by leader
  absl::flat_hash_map<JobId, JobId> leader_;                      // by follower

  uint64_t refused_results_ = 0;

  // What TakeEffects will report.
  absl::flat_hash_set<JobId> dirty_jobs_;
  absl::flat_hash_set<JobId> dirty_results_;
  absl::btree_set<SweepId> dirty_sweeps_;
  Effects pending_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_H_
