// A machine on which a worker runs: the real Agent and FileSpool, with simulated processes, disk
// and network around them, one worker process after the other.
//
// One thread.
#ifndef CONCUR_SIM_WORKER_MACHINE_H_
#define CONCUR_SIM_WORKER_MACHINE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "sim/checker.h"
#include "sim/coordinator_machine.h"
#include "sim/disk.h"
#include "sim/network.h"
#include "sim/processes.h"
#include "sim/workload.h"
#include "sim/world.h"
#include "worker/agent.h"

namespace concur::sim {

class WorkerMachine : public ArtifactCalls {
 public:
  WorkerMachine(World& world, Network& network, Checker& checker, CoordinatorMachine& coordinator,
                PlannedWorker planned, Node node);
  ~WorkerMachine() override;

  void Start();
  bool up() const { return process_ != nullptr; }
  // Nothing runs here, and nothing is left to hand in.
  bool idle() const;
  Node node() const { return node_; }
  const PlannedWorker& planned() const { return planned_; }

  // --- what happens to machines -----------------------------------------------------------------

  // Ends the process without a word, and starts the next one some time later.
  void Kill(bool power_cut);
  // As SIGTERM, once or twice.
  void Drain(bool at_once);
  void Pause(absl::Duration duration);
  void JumpClock(absl::Duration by);
  void SlowDown(absl::Duration duration, double factor);
  // Ends pauses and slowness, and starts the process if there is none.
  void Recover();
  // The machine is taken away for good.
  void Retire();

  // --- ArtifactCalls ----------------------------------------------------------------------------

  void Upload(const Digest& digest, Done done) override;
  void Download(const Digest& digest, Done done) override;
  bool PutShared(const Digest& digest) override;

 private:
  class SyncCalls;
  class CheckedSpool;
  struct Process;

  void ScheduleStep(absl::Time at);
  void Wake();
  void RunStep();
  void TakeAnswer(uint64_t sequence, const absl::StatusOr<SyncResponse>& response);
  void End(bool power_cut);
  void Transfer(bool upload, const Digest& digest, Done done);
  // Every result that is safe on this disk must be told until somebody said to forget it.
  void CheckListed(const SyncRequest& request);
  void CheckRecovered(const std::vector<worker::SpooledResult>& recovered, bool damaged);

  World& world_;
  Network& network_;
  Checker& checker_;
  CoordinatorMachine& coordinator_;
  const PlannedWorker planned_;
  const Node node_;
  MachineClock clock_;
  Disk disk_;
  std::set<Digest> kept_;        // artifacts on this disk
  std::set<AttemptId> spooled_;  // results on this disk, as far as its owner was told
  std::set<AttemptId> told_;     // that the coordinator said to forget
  std::string last_incarnation_;
  uint64_t processes_ = 0;
  std::unique_ptr<Process> process_;
  bool retired_ = false;
  absl::Time step_at_ = absl::InfiniteFuture();
  uint64_t step_number_ = 0;
  absl::Time paused_until_ = absl::InfinitePast();
  absl::Time slow_until_ = absl::InfinitePast();
};

}  // namespace concur::sim

#endif  // CONCUR_SIM_WORKER_MACHINE_H_
