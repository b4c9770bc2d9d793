// SPDX-License-Identifier: Apache-2.0
// Checks the system's guarantees from outside: acknowledged requests are durable, each result is
// counted once, no job runs twice. A violation goes to World::Fail; the checks inside the real code
// (CheckInvariants) end the process.
//
// One thread. Only observes: it draws no random numbers and changes nothing.
#ifndef CONCUR_TESTS_SIM_CHECKER_H_
#define CONCUR_TESTS_SIM_CHECKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/rows.h"
#include "core/scheduler/scheduler.h"
#include "core/sync/job_order.h"
#include "core/sync/sync.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

namespace concur::sim {

// The outcome of a job in a world without faults.
struct JobOutcome {
  JobState state = JobState::kReady;
  std::vector<Metric> metrics;

  friend bool operator==(const JobOutcome&, const JobOutcome&) = default;
};
// [number of the planned sweep][job]
using Outcomes = std::vector<std::vector<JobOutcome>>;

class Checker {
 public:
  // `expected` is null in the fault-free world, which produces it. All must outlive the checker.
  Checker(World& world, const Workload& workload, const Outcomes* expected);

  // --- workers ----------------------------------------------------------------------------------

  // A worker process runs, or is dead or draining.
  void OnProcess(const std::string& incarnation, bool alive);
  // The worker starts an attempt beside its unfinished ones.
  void OnStart(const JobOrder& order, const std::vector<const JobOrder*>& others);
  // A job begins to ask a service of its order, as the last of so many.
  void OnAsk(const JobOrder& order, const std::string& name, bool ready, size_t users);
  // A user's change of a named resource is being applied.
  void OnAmountSet(const std::string& name, int64_t amount) { amounts_[name] = amount; }
  // The worker reports the end of an attempt.
  void OnReport(const FinishedAttempt& finished);
  // A job reports a step.
  void OnStep(const AttemptStep& step);
  // A Sync with these reports was answered.
  void OnStepsConfirmed(const std::vector<AttemptStep>& steps);
  // An attempt has spent so much so far.
  void OnSpent(const AttemptStep& step);
  bool spends() const { return workload_.spends; }

  // --- the coordinator --------------------------------------------------------------------------

  // The store was opened and read: it must have all acknowledged changes. `now` is the
  // coordinator's.
  void OnLoad(const Snapshot& snapshot);
  void OnRestored(const Scheduler& scheduler, absl::Time now);
  // All leases were renewed, as the disk was full until now.
  void OnLeasesGranted(absl::Time now);
  // The coordinator took no calls for so long until now.
  void OnPaused(absl::Duration pause, absl::Time now);
  // A search chose; `text` will encode the spec.
  void OnChosen(const std::string& text, const SweepSpec& spec);
  // The store returned from the commit of a batch.
  void OnCommit(const Batch& batch, bool durable, absl::Time now);
  // The process ends in this turn, whose changes may be durable.
  void OnTurnInDoubt(const Scheduler& scheduler);
  // The answer to a worker's Sync of the coordinator's time `called`.
  void OnSyncAnswered(const SyncRequest& request, absl::Time called, const SyncResponse& response);
  // After every turn.
  void AfterTurn(const Scheduler& scheduler, absl::Time now);
  // Sets the function that is true if the coordinator has an artifact.
  void SetHasArtifact(std::function<bool(const Digest&)> has_artifact) {
    has_artifact_ = std::move(has_artifact);
  }

  // --- users ------------------------------------------------------------------------------------

  // The sweep was canceled, and perhaps taken up again by a retry before the next commit.
  void OnCancelMade(SweepId id);
  // The request was acknowledged.
  void OnSubmitted(size_t planned, SweepId id);
  void OnCanceled(SweepId id);
  void OnJobCanceled(JobId id);
  // A user will send a request to cancel the job, which may take effect without an answer.
  void OnAskedToCancel(JobId id) { asked_to_cancel_.insert(id); }
  // A retry was applied, perhaps not durably: finished jobs may run again; those that succeeded
  // only with `rerun`, or if their system was `collected` before. A retry of the whole sweep may go
  // on in later turns.
  void OnRetried(SweepId id, bool rerun, const std::set<JobId>& collected, bool whole);
  void OnDeleted(SweepId id);

  // --- at the end -------------------------------------------------------------------------------

  void CheckAcknowledged(const Scheduler& scheduler);
  // Every sweep that was not canceled has the outcomes of a world without faults.
  void CheckOutcomes(const Scheduler& scheduler);
  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t counted() const { return counted_.size(); }
  uint64_t given_up() const { return given_up_; }  // jobs skipped because similar ones had failed
  uint64_t quarantines() const { return quarantines_; }     // started quarantines
  uint64_t imports() const { return imports_; }             // acknowledged, each once
  uint64_t stopped() const { return stopped_; }             // train jobs, by early_stop
  uint64_t staged() const { return staged_; }               // attempts of stages
  uint64_t chosen() const { return keys_by_text_.size(); }  // settings, by searches
  uint64_t steps() const { return counted_steps_; }         // reports that were counted
  uint64_t resumed() const { return resumed_; }             // attempts that began with a checkpoint
  // Attempts that got the last unit of a named resource.
  uint64_t used_up() const { return used_up_; }
  uint64_t asked() const { return asked_; }              // attempts that asked a service
  uint64_t over_budget() const { return over_budget_; }  // rows of sweeps that their budgets pause

 private:
  // Null for a sweep that runs, or that is not known.
  const PlannedSweep* ImportOf(SweepId id) const;
  void CheckImportRow(const PlannedSweep& import, const JobRow& row);
  void CheckImportIsWhole(SweepId id, const PlannedSweep& import);
  void CheckImports(const Scheduler& scheduler);
  void CheckRow(const JobRow& row);
  // It was deleted, or is on disk alone.
  bool IsAway(SweepId id) const { return deleted_.contains(id) || left_out_.contains(id); }
  // checker_retries.cc
  bool IsBeingRetried(SweepId id) const;
  bool WaitsForRetry(JobId id, const SweepRow& sweep) const;
  std::set<JobId> WaitingForRetry(const SweepRow& sweep) const;
  void NoteRetries(const Batch& batch);
  void LoadRetries(const Snapshot& snapshot);
  void CheckRetriesEnded(const Scheduler& scheduler);
  static bool IsRerun(const Expansion& expansion, uint32_t job);
  void CheckSourceEnded(const JobRow& row);
  void CheckNewAttempt(const JobRow& row);
  void CheckResult(const ResultRow& row);
  bool IsOverdue(const AttemptRow& row, absl::Time now) const;
  void CheckAttempt(const AttemptRow& row, absl::Time now);
  absl::Time LeaseEndOf(const std::string& incarnation) const;
  void PutRow(const JobRow& row);
  // checker_blame.cc
  void CheckSkipped(const std::vector<JobId>& skipped, const std::set<JobId>& just_succeeded);
  bool IsHopeless(JobId id, const std::set<JobId>& just_succeeded) const;
  bool MayBeGivenUp(size_t planned, uint32_t job) const;
  bool MayBeCanceled(JobId id) const;
  void CheckNotSetAside(const JobRow& row, const Batch& batch, absl::Time now);
  void RememberBlame(const Scheduler& scheduler);
  void CheckBlameKept(const Scheduler& scheduler, absl::Time now);
  // checker_early_stop.cc
  void CheckStopped(const std::vector<JobId>& stopped);
  bool MayBeStopped(JobId id) const;
  std::vector<JobId> ComparedWith(JobId train) const;
  // checker_steps.cc
  using Steps = std::map<JobId, std::map<int64_t, StepRow>>;  // by step
  static void Apply(const Batch& batch, Steps& steps);
  void CheckSteps(const Batch& batch);
  void CheckStepsKept(const Snapshot& snapshot);
  // checker_budgets.cc
  using Amounts = std::map<AttemptId, int64_t>;  // millionths of a dollar
  static void Apply(const Batch& batch, Amounts& spent);
  int64_t SpentBy(SweepId id) const;
  void CheckSpent(const Batch& batch);
  void CheckSpentKept(const Snapshot& snapshot);
  void CheckSpentSaved(const AttemptId& id, const ReportedStep& step);
  void CheckBudgets(const std::vector<const JobRow*>& new_attempts);
  void CheckTotals(const Scheduler& scheduler);
  // checker_services.cc
  bool MustBeCharged(const AttemptId& service) const;
  void CheckServiceUse(const AttemptRow& row);
  void NoteServices(const SyncRequest& request, absl::Time called);
  struct ListedService {
    std::string worker;
    std::string incarnation;
    absl::Time first;  // in the coordinator's time
    absl::Time last;
    int calls = 0;  // that listed it since the coordinator started
  };
  void CheckServiceSaved(const AttemptId& id, const ListedService& listed);
  void CheckServiceReported(const AttemptId& service);
  void CheckNeeds(const SyncRequest& request, const SyncResponse& response);
  void CheckServices(const Scheduler& scheduler);
  // checker_resources.cc
  struct Given {
    std::string incarnation;
    Uses uses;
    std::map<std::string, int64_t> amounts;  // when it was given out
    bool at_worker = false;
    bool is_excused = false;  // its worker's lease has ended: it may still run
  };
  Uses UsesOf(JobId id) const;
  void Give(const JobRow& row);
  bool Holds(const AttemptId& id, const Given& given) const;
  void CheckRate(const std::string& name, absl::Time now);
  void CheckGiven(const std::vector<const JobRow*>& new_attempts, absl::Time now);
  void CheckUnitsAtStart(const AttemptId& id);
  void LoadResources(const Snapshot& snapshot);
  void NoteAmounts(const Batch& batch);
  void ForgetEnded(absl::Time now);
  // checker_checkpoints.cc
  void CheckCheckpoint(const JobRow& row);
  void CheckCheckpointTaken(const AttemptRow& row);
  void CheckCheckpointOrdered(const JobOrder& order);
  void CheckPauseTaken(const AttemptId& id);
  void DropSweep(SweepId id);
  const Digest* KeyOf(JobId id) const;
  // True where a search chooses the job's setting, by what has ended then: its score is not known.
  bool IsChosen(size_t planned, uint32_t job) const;
  void PutSweep(SweepId id, size_t planned, const std::string& text);
  bool SystemsAreCollected(const std::set<JobId>& jobs) const;

  World& world_;
  const Workload& workload_;
  const Outcomes* const expected_;
  std::vector<std::vector<Digest>> keys_;                      // [planned sweep][job]
  std::map<std::string, std::vector<Digest>> keys_by_text_;    // [text][job] of searches
  std::map<SweepId, const std::vector<Digest>*> chosen_keys_;  // searches that have chosen
  std::map<JobId, Setting> tried_;                             // the setting of each started job
  std::function<bool(const Digest&)> has_artifact_;

  std::set<std::string> alive_;  // incarnations
  std::set<AttemptId> started_;
  std::map<AttemptId, std::vector<FinishedAttempt>> reports_;
  std::map<Digest, AttemptId> checkpoints_;  // that attempts left
  std::map<AttemptId, std::vector<ReportedStep>> reported_steps_;

  // The state known to be durable.
  std::map<SweepId, size_t> planned_;  // number of the planned sweep
  std::map<JobId, JobRow> rows_;
  std::map<AttemptId, absl::Time> begun_;       // when each was first saved as running
  std::map<Digest, std::set<JobId>> finished_;  // jobs that succeeded, by content key
  std::set<AttemptId> counted_;
  Steps steps_;                    // that have counted
  std::set<JobId> steps_dropped_;  // jobs that ran anew
  std::set<SweepId> once_canceled_;
  std::optional<Batch> in_doubt_;    // a failed commit, which may be durable
  std::map<SweepId, bool> retried_;  // since the last commit; value: with `rerun`
  std::set<SweepId> rerun_;          // within the last commit, with `rerun`
  std::set<JobId> collected_;        // train jobs of retried_ whose systems were collected
  std::set<JobId> trained_again_;    // those within the last commit
  // Whole sweeps that were retried since the last commit, with the train jobs whose systems were
  // collected then; and those that are saved as being retried, with the jobs that must be returned.
  std::map<SweepId, std::set<JobId>> whole_retries_;
  struct SavedRetry {
    std::set<JobId> collected;
    std::set<JobId> waiting;
  };
  std::map<SweepId, SavedRetry> saved_retries_;

  // Failures held against workers, as the scheduler reported them after a turn.
  struct SetAside {
    absl::Time end;
    absl::Duration span;
    std::string reason;
    std::string incarnation;

    friend bool operator==(const SetAside&, const SetAside&) = default;
  };
  struct Held {
    std::map<std::string, SetAside> set_aside;  // by worker, also after its quarantine
    std::vector<BlameRow> blame;
    std::vector<std::pair<JobId, Suspects::Deaths>> deaths;
    // State in early_stop of each job that it compares, and how far it lets the job go.
    std::map<JobId, std::pair<EarlyStop::State, size_t>> settings;
  };
  static Held HeldBy(const Scheduler& scheduler);
  void CheckSuspect(const std::string& worker, const Held& held);
  // The difference from `after`, the state after a restart at `now`; "" if there is none.
  static std::string DifferenceAfterRestart(const Held& before, const Held& after, absl::Time now);
  Held held_;                          // after the last durable turn
  std::optional<Held> held_in_doubt_;  // after a turn that may be durable

  Amounts reported_spent_;
  Amounts spent_;                                          // durable
  std::map<SweepId, int64_t> budgets_;                     // in durable rows
  std::map<std::string, int64_t> amounts_;                 // as the coordinator was last told
  std::map<std::string, int64_t> saved_amounts_;           // durable
  std::map<AttemptId, Given> given_;                       // attempts that hold units
  std::map<std::string, std::vector<absl::Time>> starts_;  // by the resource that is used

  std::map<AttemptId, AttemptRow> charged_;        // durable use of services
  std::map<AttemptId, ListedService> services_;    // since the coordinator's start
  std::map<AttemptId, std::set<AttemptId>> asks_;  // needed services, by jobs ordered to ask them

  absl::Time restored_at_ = absl::InfinitePast();
  // Ends of leases by incarnation, in the coordinator's time; and of those that it restored.
  std::map<std::string, absl::Time> lease_ends_;
  std::map<std::string, absl::Time> last_seen_;  // by incarnation
  absl::Time restored_end_ = absl::InfinitePast();

  // Acknowledged to users and workers.
  std::map<size_t, SweepId> submitted_;
  std::set<SweepId> canceled_;
  std::set<JobId> canceled_jobs_;
  std::set<JobId> asked_to_cancel_;
  std::set<SweepId> deleted_;
  std::set<SweepId> left_out_;          // by this process of the coordinator
  std::set<SweepId> revived_;           // retried once, hence no longer canceled
  std::map<JobId, AttemptId> results_;  // successes
  uint64_t acknowledged_ = 0;
  uint64_t given_up_ = 0;
  uint64_t quarantines_ = 0;
  uint64_t imports_ = 0;
  uint64_t counted_steps_ = 0;
  uint64_t stopped_ = 0;
  uint64_t staged_ = 0;
  uint64_t resumed_ = 0;
  uint64_t used_up_ = 0;
  uint64_t asked_ = 0;
  uint64_t over_budget_ = 0;
  uint64_t turns_ = 0;
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_CHECKER_H_
