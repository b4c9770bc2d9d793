// The executor of a simulated worker: attempts that fetch their inputs, run, end in every way that
// processes end, and hand their artifacts in. How an end becomes a result is the real code's
// (worker/finish.h); so is everything that the agent does with it.
//
// One thread; lives as long as its worker's process.
#ifndef CONCUR_SIM_PROCESSES_H_
#define CONCUR_SIM_PROCESSES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sim/checker.h"
#include "sim/workload.h"
#include "sim/world.h"
#include "worker/executor.h"
#include "worker/process_watcher.h"

namespace concur::sim {

// How a worker moves artifacts: calls that end some time later, perhaps with Unavailable.
class ArtifactCalls {
 public:
  using Done = std::function<void(absl::Status)>;

  virtual ~ArtifactCalls() = default;
  virtual void Upload(const Digest& digest, Done done) = 0;
  virtual void Download(const Digest& digest, Done done) = 0;
  // Stores it at once on a disk that worker and coordinator share. False: there is none.
  virtual bool PutShared(const Digest& digest) = 0;
};

class Processes : public worker::Executor {
 public:
  // `kept` are the artifacts on the worker's disk, which outlive this. `wake` says that Poll has
  // something to give. All outlive this.
  Processes(World& world, Checker& checker, Clock& clock, ArtifactCalls& calls,
            std::set<Digest>& kept, std::function<void()> wake);
  // The worker process is gone: nothing is reported any more.
  ~Processes() override;

  void SetCoordinatorStore(const worker::CoordinatorStore& store) override;
  void Start(const JobOrder& order) override;
  void Stop(const AttemptId& id, worker::StopCause cause, bool at_once) override;
  void Publish(const FinishedAttempt& finished) override;
  void Forget(const AttemptId& id) override;
  std::vector<worker::ExecutorReport> Poll() override;
  std::string ReadLog(const AttemptId& id, int64_t offset, size_t bytes_max) override;

  // The machine is slow: what starts from now on takes so many times as long.
  void SetSlowness(double factor) { slowness_ = factor; }
  size_t running() const { return runs_.size(); }

 private:
  struct Run {
    JobOrder order;
    bool started = false;  // the command, not only its preparation
    absl::Time start_time;
    std::optional<worker::StopCause> stopped;
    uint64_t end_number = 0;  // of the end that counts: an earlier one replaces it
  };

  void Fetch(const AttemptId& id, int tries);
  void Launch(const AttemptId& id);
  void EndAfter(const AttemptId& id, absl::Duration delay, const worker::ProcessEnd& end);
  void End(const AttemptId& id, const worker::ProcessEnd& end);
  JobResult Collect(const JobOrder& order, JobResult result);
  void Report(const AttemptId& id, JobResult result, bool published);
  void TryPublish(const FinishedAttempt& finished, size_t next, int tries);
  // Runs `work` later, unless this is gone by then.
  void Later(absl::Duration delay, std::function<void()> work);
  std::function<void(absl::Status)> IfAlive(std::function<void(absl::Status)> work);

  World& world_;
  Checker& checker_;
  Clock& clock_;
  ArtifactCalls& calls_;
  std::set<Digest>& kept_;
  const std::function<void()> wake_;
  // Shared with the events that may come after this is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  double slowness_ = 1;
  uint64_t next_end_ = 1;
  std::map<AttemptId, Run> runs_;
  std::set<AttemptId> publishing_;
  std::vector<worker::ExecutorReport> reports_;
};

}  // namespace concur::sim

#endif  // CONCUR_SIM_PROCESSES_H_
