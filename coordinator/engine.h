// The Engine: one thread that owns the Scheduler and the Store.
//
// One turn: take the whole inbox; fix `now`; let the scheduler catch up with it; apply each
// request; hand out work; one commit; then answer. Nothing is answered before it is durable, and a
// burst of requests shares one sync of the disk. Reads come first: they see what the turns before
// have saved, and wait for no commit. What is read of sweeps alone, and who watches them, does not
// come here at all: every turn leaves the news on the SweepBoard. A failed commit ends the process:
// memory is ahead of disk. Only a full disk is waited for: the turn stays unanswered, and
// everything new is refused (ResourceExhausted), until there is space again.
//
// Public methods are thread-safe and do not block. Callbacks run on the engine's thread, once each,
// and must not block; they may call the engine again.
#ifndef CONCUR_COORDINATOR_ENGINE_H_
#define CONCUR_COORDINATOR_ENGINE_H_

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
#include "coordinator/engine_observer.h"
#include "coordinator/sweep_board.h"
#include "core/pools.h"
#include "core/scheduler.h"
#include "core/sync.h"
#include "store/store.h"

namespace concur {

struct EngineOptions {
  SchedulerPolicy policy;
  // The longest time for which a call is parked, whatever the caller wishes.
  absl::Duration park_max = absl::Seconds(20);
  SweepBoardOptions board;
  // Bytes of a running job's log that are kept for followers.
  size_t log_window_bytes = size_t{1} << 20;
  // Requests that wait for the engine; more are refused (ResourceExhausted).
  size_t inbox_max = 100'000;
  // Told to workers: where artifacts lie, for those who share the disk.
  std::string artifact_directory;
  std::string artifact_store_id;
  // Pools of the options; more may be saved in the store.
  std::vector<PoolSpec> pools;
  PoolsPolicy pools_policy;
  Pools::SpecDecoder decode_pool;  // of saved pools
};

class Engine {
 public:
  using SpecDecoder = std::function<absl::StatusOr<SweepSpec>(absl::string_view)>;

  // Loads what the store holds. `clock` and `store` outlive the engine.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(Clock& clock, Store& store,
                                                        const SpecDecoder& decode,
                                                        EngineOptions options);
  ~Engine();

  // Tells `observer`, which outlives the engine, of every turn. REQUIRES: before Start.
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
  // When the next turn has something to do without a new request.
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

  // What is durable of sweeps, and who watches them. The caller starts its thread.
  SweepBoard& board() { return *board_; }

  // All there is to say about one job.
  struct Explanation {
    const Scheduler* scheduler = nullptr;  // valid during the callback
    JobId job;
    std::string text;
    std::vector<AttemptRow> attempts;  // that did not succeed, oldest first
  };
  void Explain(std::function<absl::StatusOr<JobId>(Scheduler&)> find,
               std::function<void(absl::StatusOr<Explanation>)> done);

  // --- workers ----------------------------------------------------------------------------------

  using SyncDone = std::function<void(absl::StatusOr<SyncResponse>)>;
  // Answers when there is something to say or the request's wait is over. A later Sync of the same
  // worker supersedes a parked one, which is answered with nothing to do.
  void Sync(SyncRequest request, SyncDone done);
  // The caller of that Sync went away.
  void CancelSync(const std::string& worker, const std::string& incarnation, uint64_t sequence);

  // --- pools ------------------------------------------------------------------------------------

  // For what runs on the engine's thread only, that is in the work of Call.
  Pools& pools() { return pools_; }
  absl::Time turn_time() const { return now_; }
  // From now on pools are planned, and `carry` is given what is to be done, on the engine's thread,
  // once all of it is saved. It must not block.
  using PoolCarrier = std::function<void(PoolActions)>;
  void ConnectPools(PoolCarrier carry);

  // --- streams ----------------------------------------------------------------------------------

  struct LogBatch {
    AttemptId id;
    int64_t offset = 0;
    std::string data;
    // The attempt has ended: the rest stands in this artifact, or there is no log if it is zero.
    bool ended = false;
    Digest artifact;
  };
  using LogDone = std::function<void(absl::StatusOr<LogBatch>)>;
  // The log of a job's latest attempt from `offset` on; for a running one, answers when there is
  // more than that. NotFound; FailedPrecondition when the job never ran.
  uint64_t WaitForLog(JobId job, int64_t offset, LogDone done);

  // Nobody waits for this ticket any more; its callback gets Cancelled unless it has run.
  void CancelWait(uint64_t ticket);

  // Whether a turn waits for space on the disk.
  bool is_stalled() const { return stalled_.has_value(); }

  // For the tests' sake: a failed commit calls this instead of ending the process. The engine
  // behaves as a dead process from then on: it answers nobody.
  void SetFatalForTest(std::function<void(absl::Status)> fatal) { fatal_ = std::move(fatal); }
  Scheduler& scheduler_for_test() { return *scheduler_; }

 private:
  struct Request {
    std::function<void(Scheduler&)> work;
    std::function<void()> done;
    std::function<void(absl::Status)> refuse;
    bool always = false;  // changes nothing durable: done though the disk is full
  };
  // What is left of a turn once its requests were applied.
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
  // What followers want of one running attempt.
  struct LogTap {
    int64_t begin = 0;  // offset of data[0]
    std::string data;
    int64_t asked = -1;  // offset of the last order that was sent
    std::map<uint64_t, std::pair<int64_t, LogDone>> waiters;  // by ticket
    absl::Time unused_since = absl::InfiniteFuture();
  };

  Engine(Clock& clock, Store& store, EngineOptions options);
  void Post(Request request);
  void PostRead(ReadRequest request);
  absl::Status RefusalLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerReads(std::vector<ReadRequest>& reads);
  void Loop();
  bool Turn();
  void FinishTurn(AppliedTurn turn);
  // Never returns but in a test.
  void EndProcess(const absl::Status& status);
  void StallTurn(AppliedTurn turn, const absl::Status& full);
  bool RunTurnWhileStalled(std::vector<Request>& requests);
  void Publish(Effects effects);
  SweepNews NewsOf(SweepId id, std::vector<JobEvent> events) const;
  PoolActions AdvancePools();
  PoolWorld MakePoolWorld() const;
  std::string ExplainPools(JobId job) const;
  void AnswerSyncs();
  bool AnswerSync(const std::string& worker, ParkedSync& parked);
  SyncResponse MakeResponse(const std::string& worker);
  void TakeLogChunks(const SyncRequest& request);
  bool LogsAreDue(const std::string& worker) const;
  void AddLogOrders(const std::string& worker, SyncResponse& response);
  void AnswerLog(uint64_t ticket, JobId job, int64_t offset, LogDone done);
  void ExpireTaps();

  // Constant after construction.
  Clock& clock_;
  Store& store_;
  const EngineOptions options_;
  std::unique_ptr<SweepBoard> board_;  // of its own synchronization
  std::vector<EngineObserver*> observers_;

  // Owned by the engine's thread.
  std::unique_ptr<Scheduler> scheduler_;
  Pools pools_;
  PoolCarrier carry_;
  absl::Time now_ = absl::InfinitePast();
  absl::btree_map<std::string, ParkedSync> parked_;  // by worker
  absl::btree_map<AttemptId, LogTap> taps_;
  absl::flat_hash_map<uint64_t, AttemptId> log_tickets_;
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

#endif  // CONCUR_COORDINATOR_ENGINE_H_
