// SPDX-License-Identifier: Apache-2.0
// A worker's machine: runs the real Agent and FileSpool with simulated processes, disk and network,
// in one worker process after another.
//
// One thread.
#ifndef CONCUR_TESTS_SIM_WORKER_MACHINE_H_
#define CONCUR_TESTS_SIM_WORKER_MACHINE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "tests/sim/checker.h"
#include "tests/sim/coordinator_machine.h"
#include "tests/sim/disks/disk.h"
#include "tests/sim/network.h"
#include "tests/sim/processes.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"
#include "worker/agent/agent.h"

namespace concur::sim {

class WorkerMachine : public ArtifactCalls {
 public:
  WorkerMachine(World& world, Network& network, Checker& checker, CoordinatorMachine& coordinator,
                PlannedWorker planned, Node node);
  ~WorkerMachine() override;

  void Start();
  bool up() const { return process_ != nullptr; }
  // True if nothing runs here and all results are reported.
  bool idle() const;
  Node node() const { return node_; }
  const PlannedWorker& planned() const { return planned_; }

  // --- what happens to machines -----------------------------------------------------------------

  // Kills the process and starts the next one some time later.
  void Kill(bool power_cut);
  // Like SIGTERM, once or twice.
  void Drain(bool at_once);
  // SIGTERM to the worker and to its jobs, as clusters send it.
  void Terminate();
  void Pause(absl::Duration duration);
  void JumpClock(absl::Duration by);
  void SlowDown(absl::Duration duration, double factor);
  // Ends pauses and slowness, and starts the process if none runs.
  void Recover();
  // Removes the machine permanently.
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
  // Every result in the spool must be reported until the coordinator says to forget it.
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
  std::set<Digest> kept_;          // artifacts on this disk
  std::set<AttemptId> spooled_;    // results acknowledged as spooled
  std::set<AttemptId> forgotten_;  // results that the coordinator said to forget
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

#endif  // CONCUR_TESTS_SIM_WORKER_MACHINE_H_
