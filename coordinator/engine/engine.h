// SPDX-License-Identifier: Apache-2.0
// The Engine: one thread that owns the Scheduler and the Store.
//
// One turn: take the whole inbox; fix `now`; advance the scheduler to it; apply each request; hand
// out work; one commit; then answer. Nothing is answered before it is durable, and a burst of
// requests shares one sync of the disk. Reads are answered before the turn: they see what earlier
// turns have saved, and wait for no commit. Reads and watches of sweeps bypass the engine: every
// turn publishes its changes on the SweepBoard. A failed commit ends the process, because memory
// would be ahead of the disk. The exception is a full disk: the turn stays unanswered, and new
// requests are refused (ResourceExhausted), until there is space again.
//
// Public methods are thread-safe and do not block. Callbacks run on the engine's thread, once each,
// and must not block; they may call the engine again.
#ifndef CONCUR_COORDINATOR_ENGINE_ENGINE_H_
#define CONCUR_COORDINATOR_ENGINE_ENGINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/engine/engine_observer.h"
#include "coordinator/engine/followed_logs.h"
#include "coordinator/engine/sweep_board.h"
#include "core/pools/pools.h"
#include "core/scheduler/scheduler.h"
#include "core/sync/sync.h"
#include "store/store.h"

namespace concur {

struct EngineOptions {
  SchedulerPolicy policy;
  // The longest time for which a call is parked; callers can ask for less.
  absl::Duration park_max = absl::Seconds(20);
  SweepBoardOptions board;
  // Bytes of a running job's log that are kept for followers.
  size_t log_window_bytes = size_t{1} << 20;
  // Requests waiting for the engine; further ones are refused (ResourceExhausted).
  size_t inbox_max = 100'000;
  // Sent to workers: where artifacts are, for workers that share the disk.
  std::string artifact_directory;
  std::string artifact_store_id;
  // Pools of the options; more may be saved in the store.
  std::vector<PoolSpec> pools;
  PoolsPolicy pools_policy;
  Pools::SpecDecoder decode_pool;  // decodes saved pools
};

// Answer of a provider about the workers of a pool, or why it would not start them.
using PoolTryDone = std::function<void(absl::StatusOr<std::string>)>;

class Engine {
 public:
  using SpecDecoder = std::function<absl::StatusOr<SweepSpec>(absl::string_view)>;

  // Loads what the store holds, as far as SchedulerPolicy::job_memory_max allows
  // (SweepBook::ChooseLeftOut). `clock` and `store` outlive the engine.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(Clock& clock, Store& store,
                                                        const SpecDecoder& decode,
                                                        EngineOptions options);
  ~Engine();

  // Calls `observer`, which outlives the engine, after every turn. REQUIRES: before Start.
  void AddObserver(EngineObserver& observer) { observers_.push_back(&observer); }
  // Starts the thread. Without it, tests call RunUntilIdle.
  void Start();
  // Refuses new requests, answers the parked ones, and joins the thread.
  void Stop();
  // Runs one turn, as the thread would, and returns whether there was a request. REQUIRES: no
  // thread was started.
  bool RunTurn();
  // Runs turns until the inbox is empty. REQUIRES: no thread was started.
  void RunUntilIdle();

  // Has the thread ask the store whether its files are where they were (Store::CheckPlace). If not,
  // the process ends as after a failed commit.
  void CheckStore();
  // When the next turn is due even if no request arrives.
  absl::Time NextDeadline() const;

  // Runs `work` in the next turn and gives its value to `done` after the commit.
  template <typename T>
  void Call(std::function<absl::StatusOr<T>(Scheduler&)> work,
            std::function<void(absl::StatusOr<T>)> done) {
    auto value = std::make_shared<absl::StatusOr<T>>(absl::InternalError("not run"));
    auto shared_done = std::make_shared<std::function<void(absl::StatusOr<T>)>>(std::move(done));
    Post({[value, work = std::move(work)](Scheduler& scheduler) { *value = work(scheduler); },
          [value, shared_done] { (*shared_done)(std::move(*value)); },
          [shared_done](absl::Status status) { (*shared_done)(std::move(status)); }});
  }

  // Runs `work`, which changes nothing, before the next turn begins, and gives its value to `done`
  // at once: what it sees is durable.
  template <typename T>
  void Read(std::function<absl::StatusOr<T>(const Scheduler&)> work,
            std::function<void(absl::StatusOr<T>)> done) {
    // Shared by the read and its refusal, of which one is called.
    auto shared_done = std::make_shared<std::function<void(absl::StatusOr<T>)>>(std::move(done));
    PostRead({[shared_done, work = std::move(work)](const Scheduler& scheduler) {
                (*shared_done)(work(scheduler));
              },
              [shared_done](absl::Status status) { (*shared_done)(std::move(status)); }});
  }

  // The durable state of sweeps, and their watchers. The caller starts its thread.
  SweepBoard& board() { return *board_; }

  // The explanation of one job's state.
  struct Explanation {
    const Scheduler* scheduler = nullptr;  // valid during the callback
    JobId job;
    std::string text;
    std::vector<AttemptRow> attempts;  // that did not succeed, oldest first
    std::vector<StepRow> steps;        // those of Scheduler::ReporterOf the job, if asked for
  };
  void Explain(std::function<absl::StatusOr<JobId>(Scheduler&)> find, bool include_steps,
               std::function<void(absl::StatusOr<Explanation>)> done);

  // The instances of services that were started for the jobs of a sweep.
  void ListServiceUse(SweepId sweep,
                      std::function<void(absl::StatusOr<std::vector<AttemptRow>>)> done);

  // --- workers ----------------------------------------------------------------------------------

  using SyncDone = std::function<void(absl::StatusOr<SyncResponse>)>;
  // Answers when there are orders or the request's wait is over. A later Sync of the same worker
  // supersedes a parked one, which is answered with no orders.
  void Sync(SyncRequest request, SyncDone done);
  // The caller of that Sync has disconnected.
  void CancelSync(const std::string& worker, const std::string& incarnation, uint64_t sequence);

  // --- pools ------------------------------------------------------------------------------------

  // For use on the engine's thread only, that is in the work of Call.
  Pools& pools() { return pools_; }
  absl::Time turn_time() const { return now_; }
  // From now on pools are planned, and `carry` receives the actions on the engine's thread, once
  // all of them are saved. It must not block.
  using PoolCarrier = std::function<void(PoolActions)>;
  using PoolTrier = std::function<void(const PoolSpec&, PoolTryDone)>;
  void ConnectPools(PoolCarrier carry, PoolTrier try_pool);
  // Asks a pool's provider what it says to such workers. Unavailable while no provider is
  // connected.
  void TryPool(PoolSpec pool, PoolTryDone done);

  // --- streams ----------------------------------------------------------------------------------

  // The log of this attempt of a job, or of its latest when that is 0, from `offset` on; of a
  // running one, answers once there is more, or without data when the worker says that there is not
  // and the caller does not `follow`. NotFound; FailedPrecondition when the job never ran.
  uint64_t WaitForLog(JobId job, Attempt attempt, int64_t offset, bool follow, LogDone done);

  // Cancels the wait with this ticket: its callback gets Cancelled unless it has run.
  void CancelWait(uint64_t ticket);

  // Returns true if a turn is waiting for space on the disk.
  bool is_stalled() const { return stalled_.has_value(); }

  // A failed commit calls this instead of ending the process. From then on the engine behaves like
  // a dead process: it answers nothing.
  void SetFatalForTest(std::function<void(absl::Status)> fatal) { fatal_ = std::move(fatal); }
  Scheduler& scheduler_for_test() { return *scheduler_; }

 private:
  struct Request {
    std::function<void(Scheduler&)> work;
    std::function<void()> done;
    std::function<void(absl::Status)> refuse;
    bool always = false;  // changes nothing durable: runs even while the disk is full
    bool is_sync = false;
  };
  // A turn whose requests were applied, before its commit.
  struct AppliedTurn {
    Effects effects;
    std::vector<Request> requests;
    PoolActions pool_actions;
    EngineObserver::Turn figures;
  };
  struct ReadRequest {
    std::function<void(const Scheduler&)> work;
    std::function<void(absl::Status)> refuse;
  };
  struct ParkedSync {
    std::string incarnation;
    uint64_t sequence = 0;
    absl::Time deadline;
    SyncDone done;
    bool at_once = false;
  };
  Engine(Clock& clock, Store& store, EngineOptions options);
  void Post(Request request);
  void PostRead(ReadRequest request);
  absl::Status RefusalLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False, and the process ends, when another coordinator leads.
  bool AnswerReads(std::vector<ReadRequest>& reads);
  void Loop();
  bool Turn();
  absl::Duration PauseBefore() const;
  void FinishTurn(AppliedTurn turn);
  // Returns only in tests.
  void EndProcess(const absl::Status& status);
  void StallTurn(AppliedTurn turn, const absl::Status& full);
  bool RunTurnWhileStalled(std::vector<Request>& requests);
  PoolActions AdvancePools();
  void AnswerSyncs();
  SyncResponse MakeResponse(const std::string& worker);

  // Constant after construction.
  Clock& clock_;
  Store& store_;
  const EngineOptions options_;
  std::unique_ptr<SweepBoard> board_;  // synchronizes itself
  std::vector<EngineObserver*> observers_;

  // Owned by the engine's thread.
  std::unique_ptr<Scheduler> scheduler_;
  Pools pools_;
  PoolCarrier carry_;
  PoolTrier try_pool_;
  absl::Time now_ = absl::InfinitePast();
  struct {
    absl::Time begin;
    absl::Time end;
  } last_turn_;
  absl::btree_map<std::string, ParkedSync> parked_;  // by worker
  FollowedLogs logs_;
  std::optional<AppliedTurn> stalled_;  // not durable yet: the disk is full
  absl::Status stall_reason_;
  absl::Time stall_retry_;
  absl::Duration stall_wait_;
  std::function<void(absl::Status)> fatal_;
  bool dead_ = false;  // a commit failed, in a test
  std::thread thread_;

  Mutex mutex_;
  CondVar wake_;
  std::vector<Request> inbox_ ABSL_GUARDED_BY(mutex_);
  std::vector<ReadRequest> reads_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_ENGINE_H_
