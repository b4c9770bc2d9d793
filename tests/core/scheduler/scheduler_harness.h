// SPDX-License-Identifier: Apache-2.0
// A scheduler with everything around it that a test needs: a store that takes its batches, fake
// workers that keep the rules of core/sync/sync.h, and one turn after the other as the engine does
// it. After every turn the state is checked, and rebuilt from the store and compared.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_CORE_SCHEDULER_SCHEDULER_HARNESS_H_
#define CONCUR_TESTS_CORE_SCHEDULER_SCHEDULER_HARNESS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/scheduler/scheduler.h"
#include "store/memory_store.h"

namespace concur::testing {

// A worker as core/sync/sync.h asks for it. What its processes do is up to the test.
class FakeWorker {
 public:
  FakeWorker(std::string name, Resources capacity);

  // The worker's whole state; grows the sequence.
  SyncRequest MakeRequest();
  // Takes an answer to the request with this sequence; ignores it unless it is the latest one.
  void TakeAnswer(uint64_t sequence, const WorkerOrders& orders);
  // An attempt ended, and perhaps left a checkpoint. REQUIRES: it runs.
  void Finish(AttemptId id, JobResult result, std::optional<Checkpoint> checkpoint = {});
  // A service answers from now on. REQUIRES: it runs.
  void SetReady(AttemptId id);
  // An attempt was stopped: nobody wants to know how it ended.
  void Drop(AttemptId id);
  // The process was killed and started again. `spooled`: results of finished attempts survived;
  // `knows_previous`: it found its earlier incarnation's name.
  void Restart(bool spooled, bool knows_previous);

  const std::string& name() const { return info_.name; }
  WorkerInfo& info() { return info_; }
  uint64_t sequence() const { return sequence_; }
  const std::set<AttemptId>& running() const { return running_; }
  const std::set<AttemptId>& stopping() const { return stopping_; }
  const std::map<AttemptId, JobResult>& finished() const { return finished_; }
  uint64_t GpusOf(AttemptId id) const;
  // The instance that the attempt was to ask: its approach's own, or one that it needs.
  std::optional<AttemptId> ServiceOf(AttemptId id, const std::string& name = "") const {
    const auto& services = services_.at(id);
    const auto it = services.find(name);
    return it == services.end() ? std::nullopt : std::optional(it->second);
  }
  // Checkpoint that the attempt was to go on from. REQUIRES: this incarnation started it.
  std::optional<Checkpoint> CheckpointOf(AttemptId id) const { return given_.at(id); }

 private:
  WorkerInfo info_;
  int restarts_ = 0;
  uint64_t sequence_ = 0;
  std::set<AttemptId> running_;
  std::set<AttemptId> stopping_;  // told to stop; still running
  std::set<AttemptId> started_;   // ever, by this incarnation
  std::map<AttemptId, JobResult> finished_;
  std::map<AttemptId, std::optional<Checkpoint>> left_;  // by those of finished_
  std::map<AttemptId, std::optional<Checkpoint>> given_;
  std::map<AttemptId, std::map<std::string, AttemptId>> services_;
  std::set<AttemptId> ready_;  // services
  std::map<AttemptId, uint64_t> gpus_;
};

class SchedulerHarness {
 public:
  explicit SchedulerHarness(SchedulerPolicy policy);

  Scheduler& scheduler() { return *scheduler_; }
  MemoryStore& store() { return store_; }
  absl::Time now() const { return now_; }
  const SchedulerPolicy& policy() const { return policy_; }

  // Submits a sweep; equal specs are told apart by `spec.name` and the caller's `text`.
  absl::StatusOr<SweepId> Submit(SweepSpec spec, const std::string& text,
                                 const std::string& owner = "me",
                                 const std::string& request_id = "");
  absl::StatusOr<SweepId> Import(SweepSpec spec, const std::string& text,
                                 std::vector<ImportedResult> results,
                                 const std::string& request_id = "");
  void Advance(absl::Duration by);

  struct Turn {
    std::vector<JobEvent> events;
    std::map<SweepId, SweepState> changed_sweeps;  // those whose state differs from before
    std::map<std::string, WorkerOrders> answers;   // orders of the parked workers that have some
  };
  // Ends a turn: hands out work, saves, checks, compares with what a restart would give (unless
  // `compare` is false), and answers the parked workers that there is something to say to.
  Turn EndTurn(bool compare = true);
  // Which workers have a call that is not answered yet.
  std::set<std::string>& parked() { return parked_; }

  // Kills the coordinator and starts it again from the store. Parked calls are gone.
  void RestartCoordinator();
  // Later starts have memory for so many jobs. 0: for all. Call EndTurn(false) while some sweep is
  // left on disk.
  void LimitMemory(int64_t jobs) { policy_.job_memory_max = jobs * SweepBook::kJobMemoryBytes; }

 private:
  absl::StatusOr<Scheduler::Submission> SubmissionOf(SweepSpec spec, const std::string& text,
                                                     const std::string& owner,
                                                     const std::string& request_id);
  // The text of a spec: that of its submission, which is its path, and what a search chose.
  std::string Encode(const SweepSpec& spec);
  std::unique_ptr<Scheduler> RestoreFromStore();
  void CheckLabels(const std::string& name, const WorkerOrders& orders) const;

  SchedulerPolicy policy_;
  MemoryStore store_;
  std::map<std::string, std::shared_ptr<const Expansion>> expansions_;  // by spec text
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::unique_ptr<Scheduler> scheduler_;
  std::set<std::string> parked_;
  std::map<SweepId, SweepState> states_;
};

// "" when a restart gives what it must: the same sweeps, jobs, attempts, results, workers and
// blame. These may differ: who follows whom (a follower is READY again), what is still being
// stopped (a canceled sweep has ended), leases, resources and times of workers, and times by less
// than a millisecond.
std::string DifferenceAfterRestart(const Scheduler& before, const Scheduler& after);

// A result that an attempt could have: a system for train jobs, a metric for eval jobs.
JobResult SuccessOf(AttemptId id, bool is_train);
JobResult FailureOf(FailureClass failure);

// "s1/0#2".
std::string ShortText(AttemptId id);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_CORE_SCHEDULER_SCHEDULER_HARNESS_H_
