// SPDX-License-Identifier: Apache-2.0
// The executor of a simulated worker: attempts fetch their inputs, run, end in all ways that
// processes can, and upload their artifacts. Real code makes results of the ends
// (worker/execution/finish.h) and handles them (the agent).
//
// One thread; lives as long as its worker's process.
#ifndef CONCUR_TESTS_SIM_PROCESSES_H_
#define CONCUR_TESTS_SIM_PROCESSES_H_

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
#include "base/process/process_watcher.h"
#include "tests/sim/checker.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"
#include "worker/executor.h"

namespace concur::sim {

// Transfers of artifacts: calls that end some time later, perhaps with Unavailable.
class ArtifactCalls {
 public:
  using Done = std::function<void(absl::Status)>;

  virtual ~ArtifactCalls() = default;
  virtual void Upload(const Digest& digest, Done done) = 0;
  virtual void Download(const Digest& digest, Done done) = 0;
  // Stores it immediately on a disk shared with the coordinator. False if there is none.
  virtual bool PutShared(const Digest& digest) = 0;
};

// Signals to all processes of a machine reach them so long apart at most.
inline constexpr absl::Duration kTerminationMax = absl::Milliseconds(500);

class Processes : public worker::Executor {
 public:
  // `kept` are the artifacts on the worker's disk. `wake` is called when Poll has reports, `die`
  // when a job kills the worker's process: it destroys this. All must outlive this.
  Processes(World& world, Checker& checker, Clock& clock, ArtifactCalls& calls,
            std::set<Digest>& kept, std::function<void()> wake, std::function<void()> die);
  // The worker process has ended: reports stop.
  ~Processes() override;

  void SetCoordinatorStore(const worker::CoordinatorStore& store) override;
  void SetLeaseEnd(absl::Time end) override;
  void Start(const JobOrder& order) override;
  void Stop(const AttemptId& id, worker::StopCause cause, bool at_once) override;
  void Publish(const FinishedAttempt& finished) override;
  void Forget(const AttemptId& id) override;
  std::vector<worker::ExecutorReport> Poll() override;
  std::vector<AttemptStep> PollSteps() override;
  std::vector<AttemptId> PollReady() override { return std::exchange(ready_, {}); }
  std::string ReadLog(const AttemptId& id, int64_t offset, size_t bytes_max) override;

  // Slows the machine: attempts that start from now on take `factor` times as long.
  void SetSlowness(double factor) { slowness_ = factor; }
  // SIGTERM to every job that runs, within kTerminationMax.
  void Terminate();
  // Every command fails until the faults end.
  void SetBroken(bool broken) { broken_ = broken; }
  size_t running() const { return runs_.size(); }

 private:
  struct Run {
    JobOrder order;
    bool started = false;  // the command runs; false while it is prepared
    absl::Time start_time;
    uint32_t resumed_from = 0;  // the attempt whose checkpoint it has
    bool stuck = false;         // nobody enforces its time-out
    bool ready = false;         // a service that answers
    std::optional<worker::StopCause> stopped;
    uint64_t end_number = 0;  // number of the scheduled end, which an earlier one replaces
  };

  void Fetch(const AttemptId& id, int tries);
  void Launch(const AttemptId& id);
  void LaunchService(const AttemptId& id);
  // False when one that it asks does not run, or is to stop.
  bool HasServices(const JobOrder& order) const;
  // Lets a train job report so many steps, the last at its end.
  void ReportSteps(const AttemptId& id, absl::Duration run_time);
  void ReportStep(const AttemptId& id, int64_t step);
  void EndAfter(const AttemptId& id, absl::Duration delay, const process::ProcessEnd& end);
  void End(const AttemptId& id, const process::ProcessEnd& end);
  JobResult Collect(const JobOrder& order, JobResult result);
  std::optional<Checkpoint> LeaveCheckpoint(const Run& run, const JobResult& result);
  void Report(FinishedAttempt finished, bool published);
  void TryPublish(const FinishedAttempt& finished, size_t next, int tries);
  // Runs `work` later, unless this has been destroyed by then.
  void Later(absl::Duration delay, std::function<void()> work);
  std::function<void(absl::Status)> IfAlive(std::function<void(absl::Status)> work);

  World& world_;
  Checker& checker_;
  Clock& clock_;
  ArtifactCalls& calls_;
  std::set<Digest>& kept_;
  const std::function<void()> wake_;
  const std::function<void()> die_;
  // Shared with events that may fire after this is destroyed.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  double slowness_ = 1;
  bool broken_ = false;
  uint64_t next_end_ = 1;
  absl::Time lease_end_ = absl::InfinitePast();
  std::set<AttemptId> held_;  // ready to start, but for the lease
  std::map<AttemptId, Run> runs_;
  std::set<AttemptId> publishing_;
  std::vector<worker::ExecutorReport> reports_;
  std::vector<AttemptStep> steps_;
  std::vector<AttemptId> ready_;
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_PROCESSES_H_
