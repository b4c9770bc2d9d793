// SPDX-License-Identifier: Apache-2.0
// The coordinator's machine: runs the real Engine with its Scheduler on a Store, turn by turn, in
// one process after another. On a database there is a second machine, whose process takes over when
// the leader's row expires; a former leader may wake up later.
//
// One thread.
#ifndef CONCUR_TESTS_SIM_COORDINATOR_MACHINE_H_
#define CONCUR_TESTS_SIM_COORDINATOR_MACHINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "coordinator/engine/engine.h"
#include "coordinator/engine/sweep_board.h"
#include "core/sync/sync.h"
#include "store/store.h"
#include "tests/sim/checker.h"
#include "tests/sim/disks/database.h"
#include "tests/sim/disks/store_disk.h"
#include "tests/sim/history.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

namespace concur::sim {

class CoordinatorMachine {
 public:
  CoordinatorMachine(World& world, Checker& checker, History& history, const Workload& workload,
                     StoreDisk& disk, DatabaseDisk* database);
  ~CoordinatorMachine();

  // Starts the process; retries if the disk fails.
  void Start();
  bool up() const { return engine_ != nullptr; }
  // REQUIRES: up().
  const Scheduler& scheduler() const { return engine_->scheduler_for_test(); }

  // --- what happens to machines -----------------------------------------------------------------

  // Kills the process and starts the next one some time later.
  void Kill(bool power_cut);
  // On a database the machine's own clock may stand still meanwhile, as a virtual machine's does.
  void Pause(absl::Duration duration);
  void JumpClock(absl::Duration by);
  // Later processes have memory for so many jobs. 0: for all.
  void LimitMemory(int64_t jobs) { memory_jobs_ = jobs; }
  // Delays turns until then.
  void SlowDown(absl::Duration duration) { slow_until_ = world_.now() + duration; }
  // Ends pauses and slowness.
  void Recover();

  // --- calls, as they arrive --------------------------------------------------------------------

  // Unavailable when no process runs. A killed process answers no calls.
  void Sync(SyncRequest request, std::function<void(absl::StatusOr<SyncResponse>)> done);
  void CancelSync(const std::string& worker, const std::string& incarnation, uint64_t sequence);
  template <typename T>
  void Call(std::function<absl::StatusOr<T>(Scheduler&)> work,
            std::function<void(absl::StatusOr<T>)> done) {
    if (!up()) {
      done(absl::UnavailableError("connection refused"));
      return;
    }
    if (ReachesFormer()) {
      former_->engine->Call<T>(std::move(work), [done](absl::StatusOr<T> value) {
        if (value.ok()) {
          done(std::move(value));
        }
      });
      return;
    }
    if (world_.bug() == Bug::kAnswerBeforeCommit) {
      engine_->Call<T>(
          [work, done](Scheduler& scheduler) {
            absl::StatusOr<T> value = work(scheduler);
            done(value);
            return value;
          },
          [](const absl::StatusOr<T>&) {});
    } else {
      engine_->Call<T>(std::move(work), [this, process = process_, done](absl::StatusOr<T> value) {
        if (process == process_) {
          done(std::move(value));
        }
      });
    }
    ScheduleTurn(world_.now() + TurnDelay());
  }
  // A read, at a turn that something else causes; nullopt when there is no such sweep. Never
  // answered by a process that ends before.
  using Seen = absl::StatusOr<std::optional<SeenSweep>>;
  void ReadSweep(SweepId id, std::function<void(Seen)> done);
  // A read of the board, at once and without the jobs.
  Seen ReadBoard(SweepId id);
  absl::Status Watch(SweepId id, std::string cursor, SweepBoard::Watcher& watcher);
  // REQUIRES: up().
  SweepBoard& board() { return engine_->board(); }
  // The number of the current or next process.
  uint64_t process() const { return process_; }

  // If OK, the change is durable.
  absl::Status Upload(const Digest& digest);
  absl::Status Download(const Digest& digest) const;

  // --- artifacts --------------------------------------------------------------------------------

  bool HasArtifact(const Digest& digest) const { return artifacts_.contains(digest); }
  void PutArtifact(const Digest& digest) { artifacts_[digest] = clock_.Now(); }
  // Removes unneeded artifacts older than `grace`, as Collector does.
  void Collect(absl::Duration grace);

 private:
  class CheckedStore;

  // A leader that was replaced while it was paused, and does not know.
  struct Former {
    std::unique_ptr<Store> disk_store;
    std::unique_ptr<Store> store;
    std::unique_ptr<Engine> engine;
  };

  // Time since the machine was started, by its own clock.
  absl::Time BootTime() const { return world_.now() - stood_still_; }
  bool LeadsNoMore() const { return database_ != nullptr && BootTime() >= lead_until_; }
  // False while a paused process, or one that leads no more, holds the connection.
  bool AnswersAtOnce() const {
    return up() && (database_ == nullptr || (world_.now() >= paused_until_ && !LeadsNoMore()));
  }
  // Draws whether a call goes to the former leader.
  bool ReachesFormer() { return former_ != nullptr && world_.random().Chance(0.5); }
  void KeepLeading(uint64_t process);
  void StandBy(uint64_t process);
  void TakeOver();
  void WakeFormer();
  // The process is gone: its turns and answers are dropped.
  void Forget();
  absl::Duration TurnDelay();
  void ScheduleTurn(absl::Time at);
  void RunTurn();
  // The process has ended.
  void End(bool power_cut);
  void Mutate(SyncRequest& request);
  void Mutate(SyncResponse& response);
  std::set<Digest> Checkpoints() const;

  World& world_;
  Checker& checker_;
  History& history_;
  const Workload& workload_;
  StoreDisk& disk_;
  DatabaseDisk* const database_;  // the same, if it is one
  MachineClock clock_;
  std::map<std::string, SweepSpec, std::less<>> chosen_;  // specs of searches, by text
  std::map<Digest, absl::Time> artifacts_;  // time of the last upload, by this machine's clock

  std::map<SweepId, std::optional<SeenSweep>> read_;  // contents of a cache with a bug
  std::vector<std::function<void()>> before_commit_;  // reads, with a bug
  std::optional<Checkpoint> last_checkpoint_;         // that was ordered, with a bug
  std::set<AttemptId> told_to_stop_;                  // by this process, with a bug

  uint64_t process_ = 0;  // number of the current or next process
  std::unique_ptr<Store> disk_store_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;  // null while no process runs
  bool ended_ = false;              // a commit of this turn failed

  absl::Time lead_until_ = absl::InfiniteFuture();  // by BootTime
  absl::Duration stood_still_;
  std::unique_ptr<Former> former_;

  int64_t memory_jobs_ = 0;
  absl::Time turn_at_ = absl::InfiniteFuture();
  uint64_t turn_number_ = 0;
  absl::Time due_;  // when the next turn is due at the latest, by this machine's clock
  absl::Time paused_until_ = absl::InfinitePast();
  absl::Time slow_until_ = absl::InfinitePast();
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_COORDINATOR_MACHINE_H_
