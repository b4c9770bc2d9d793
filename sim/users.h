// The users of a simulated coordinator: they submit sweeps and pause, cancel, retry, repeat and
// delete them, each over the network, and ask again until they are answered.
//
// One thread.
#ifndef CONCUR_SIM_USERS_H_
#define CONCUR_SIM_USERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/scheduler.h"
#include "sim/checker.h"
#include "sim/coordinator_machine.h"
#include "sim/network.h"
#include "sim/workload.h"
#include "sim/world.h"

namespace concur::sim {

class Users {
 public:
  Users(World& world, Network& network, Checker& checker, CoordinatorMachine& coordinator,
        const Workload& workload);

  // Begins to carry out the plan. Without `meddle`, sweeps are submitted and left alone.
  void Start(bool meddle);
  // Every request that was begun has been answered, and none is still to come.
  bool idle() const { return pending_ == 0; }
  // Resumes every sweep that is paused: a pause that came late may have outlived its end.
  void ResumeAll();
  // Asks for failed jobs to be tried again, and, with `rerun`, for one job of each sweep to be run
  // although it succeeded.
  void RetryFailed();
  void RerunSome();

 private:
  using Work = std::function<absl::StatusOr<SweepId>(Scheduler&)>;
  using Answered = std::function<void(absl::StatusOr<SweepId>)>;

  // Asks until there is an answer. `work` may be carried out more than once.
  void Ask(const std::string& what, const Work& work, const Answered& answered);
  void TryOnce(const std::shared_ptr<const std::string>& what, const Work& work,
               const Answered& answered);
  void Submit(size_t planned);
  void Meddle(size_t planned, SweepId id);
  void AskAfter(absl::Duration delay, const std::string& what, Work work, Answered answered);
  Work RetryWork(SweepId id, std::vector<uint32_t> jobs, bool rerun);

  World& world_;
  Network& network_;
  Checker& checker_;
  CoordinatorMachine& coordinator_;
  const Workload& workload_;
  bool meddle_ = false;
  int pending_ = 0;
  uint64_t requests_ = 0;
};

}  // namespace concur::sim

#endif  // CONCUR_SIM_USERS_H_
