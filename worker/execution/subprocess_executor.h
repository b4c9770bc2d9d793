// SPDX-License-Identifier: Apache-2.0
// The executor that runs real processes. Watchers look after them. A watcher whose only process has
// ended starts the next one, for another watcher, and collects the result, if small: until then it
// is given nothing to watch. A pool of threads does the rest: it prepares attempts, and starts and
// collects where that would hold up a watcher.
#ifndef CONCUR_WORKER_EXECUTION_SUBPROCESS_EXECUTOR_H_
#define CONCUR_WORKER_EXECUTION_SUBPROCESS_EXECUTOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/process/process_watcher.h"
#include "base/thread_pool.h"
#include "worker/execution/finish.h"
#include "worker/execution/scorer.h"
#include "worker/execution/subprocess_options.h"
#include "worker/executor.h"
#include "worker/gateway_client.h"
#include "worker/inputs/inputs.h"
#include "worker/inputs/run_dir.h"

namespace concur::worker {

struct SubprocessEntry;

// Executor's functions belong to one thread; the rest is inside.
class SubprocessExecutor : public Executor {
 public:
  // Kills what an earlier worker left running in the work directory, and empties its run
  // directories. `live` are artifacts of results that are to be published, as often as they occur:
  // they stay until these are forgotten. `on_report` is called from other threads when Poll has
  // something to give. REQUIRES: the work directory's lock is held.
  static absl::StatusOr<std::unique_ptr<SubprocessExecutor>> Open(SubprocessOptions options,
                                                                  ArtifactTransfer& transfer,
                                                                  const std::vector<Digest>& live,
                                                                  std::function<void()> on_report);
  // Kills what still runs.
  ~SubprocessExecutor() override;

  // Leftovers that the start found on disk and could not remove, a line each, for people.
  const std::vector<std::string>& notices() const { return notices_; }
  void SetCoordinatorStore(const CoordinatorStore& store) override;
  void SetLeaseEnd(absl::Time end) override;
  void Start(const JobOrder& order) override;
  void Stop(const AttemptId& id, StopCause cause, bool at_once) override;
  void Publish(const FinishedAttempt& finished) override;
  void Forget(const AttemptId& id) override;
  std::vector<ExecutorReport> Poll() override;
  std::vector<AttemptStep> PollSteps() override;
  std::vector<AttemptId> PollReady() override;
  size_t waiting() const override;
  // Attempts that wait for the lease to be renewed.
  size_t held_for_test() const {
    MutexLock lock(mu_);
    return held_.size();
  }
  std::string ReadLog(const AttemptId& id, int64_t offset, size_t bytes_max) override;

 private:
  using Entry = SubprocessEntry;
  // Shared: an entry lives in the map until it is forgotten, and in the work under way for it.
  using EntryPtr = std::shared_ptr<Entry>;

  SubprocessExecutor(SubprocessOptions options, std::unique_ptr<RunDirectories> directories,
                     std::unique_ptr<Artifacts> artifacts, std::vector<std::string> notices,
                     std::function<void()> on_report);

  // Work to be done for entries, without the lock.
  struct Work {
    std::vector<EntryPtr> prepare;
    std::vector<EntryPtr> launch;
  };

  // Gives free room to those that wait, and lets the next ones prepare: what starts when a process
  // ends has its files ready.
  Work Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRoom(const Entry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Occupy(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Vacate(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Submit(const Work& work);
  void Prepare(const EntryPtr& entry, int tries);
  // After a delay, and so often only.
  void PrepareAgain(const EntryPtr& entry);
  absl::Status PrepareFiles(Entry& entry);
  // Finds the port of a service, or the addresses of the services that a job asks.
  absl::Status PrepareService(Entry& entry);
  // Asks a service whether it is ready, again and again.
  void ProbeService(const EntryPtr& entry, int tries);
  // True while all services that the entry asks can answer; with `asks`, if they do.
  bool HasServices(const Entry& entry, bool asks) const;
  // Stops the jobs that ask a service which has ended.
  void StopUsersOf(const AttemptId& service);
  void Launch(const EntryPtr& entry);
  // Keeps an entry back when the worker's lease may have ended. True if it does.
  bool HoldWithoutLease(const EntryPtr& entry);
  // Chooses the watcher of an entry that is about to start.
  void AssignWatcher(Entry& entry);
  // By the watcher's thread.
  void OnEnd(const EntryPtr& entry, process::ProcessEnd end);
  void Finish(const EntryPtr& entry, const Outputs& outputs, const process::ProcessEnd& end,
              std::optional<StopCause> stopped);
  void RemoveForgotten();
  // Removes what jobs make beside their directories, as long as some run.
  void RemoveStrays();
  void FailBeforeStart(const EntryPtr& entry, JobResult result);
  void TryPublish(const EntryPtr& entry, const FinishedAttempt& finished, int tries);
  void Report(ExecutorReport report, Artifacts::PutStart start = {});
  void ReportStep(AttemptStep step);
  std::optional<StopCause> StopCauseOf(const Entry& entry);

  // Constant after construction.
  const SubprocessOptions options_;
  const std::vector<std::string> notices_;
  const std::function<void()> on_report_;

  // Own synchronization.
  std::unique_ptr<RunDirectories> directories_;
  std::unique_ptr<Artifacts> artifacts_;
  Scorer scorer_;
  process::ProcessTable table_;
  ThreadPool pool_;
  // The first one is never busy.
  std::vector<std::unique_ptr<process::ProcessWatcher>> watchers_;

  // Load of a watcher.
  struct Load {
    int processes = 0;
    bool busy = false;  // starts and collects: what it watched would wait
  };

  mutable Mutex mu_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Load> loads_ ABSL_GUARDED_BY(mu_);  // as watchers_
  uint64_t next_number_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<AttemptId, EntryPtr> entries_ ABSL_GUARDED_BY(mu_);
  int slots_used_ ABSL_GUARDED_BY(mu_) = 0;
  Resources used_ ABSL_GUARDED_BY(mu_){.cpu_millis = 0};
  std::deque<EntryPtr> waiting_ ABSL_GUARDED_BY(mu_);
  absl::Time lease_end_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // on options_.clock
  std::vector<EntryPtr> held_ ABSL_GUARDED_BY(mu_);  // ready to start, but for the lease
  // Report that Poll will give, and when its artifacts were put: they may not be durable yet.
  struct Pending {
    ExecutorReport report;
    Artifacts::PutStart start;
  };
  std::vector<Pending> reports_ ABSL_GUARDED_BY(mu_);
  std::vector<AttemptStep> steps_ ABSL_GUARDED_BY(mu_);   // one attempt has kStepsOfJobMax at most
  std::vector<AttemptId> ready_ ABSL_GUARDED_BY(mu_);     // services, for PollReady
  std::vector<EntryPtr> forgotten_ ABSL_GUARDED_BY(mu_);  // their directories are to be removed
  bool looks_for_strays_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTION_SUBPROCESS_EXECUTOR_H_
