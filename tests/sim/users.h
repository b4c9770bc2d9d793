// SPDX-License-Identifier: Apache-2.0
// The users of a simulated coordinator: they submit and import sweeps and pause, cancel, retry,
// rerun and delete them over the network, repeating each request until it is answered.
//
// One thread.
#ifndef CONCUR_TESTS_SIM_USERS_H_
#define CONCUR_TESTS_SIM_USERS_H_

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
#include "core/scheduler/scheduler.h"
#include "tests/sim/checker.h"
#include "tests/sim/coordinator_machine.h"
#include "tests/sim/history.h"
#include "tests/sim/network.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

namespace concur::sim {

class Users {
 public:
  Users(World& world, Network& network, Checker& checker, History& history,
        CoordinatorMachine& coordinator, const Workload& workload);

  // Starts the plan. Without `meddle`, sweeps are only submitted.
  void Start(bool meddle);
  // True if every request has been sent and answered.
  bool idle() const { return pending_ == 0; }
  // Resumes every paused sweep: a delayed pause may have arrived after its resume. Its budget is
  // enough from then on.
  void ResumeAll();
  // Retries failed jobs and, with `rerun`, reruns one successful job of each sweep.
  void RetryFailed();
  void RerunSome();

 private:
  using Work = std::function<absl::StatusOr<SweepId>(Scheduler&)>;
  using Answered = std::function<void(absl::StatusOr<SweepId>)>;

  // Repeats the request until it is answered. `work` may run more than once. The history gets the
  // request; `id` is 0 for a submission.
  void Ask(UserRequest request, SweepId id, const std::string& what, const Work& work,
           const Answered& answered);
  void TryOnce(const std::shared_ptr<const std::string>& what, const Work& work,
               const Answered& answered);
  // Sets the first amounts of named resources, then goes on.
  void SetResources(const std::function<void()>& then);
  int64_t RateOf(const std::string& name) const;
  void SetResource(const std::string& name, int64_t amount, const std::function<void()>& then);
  void SubmitAll();
  void Submit(size_t planned);
  void Meddle(size_t planned, SweepId id);
  void AskAfter(absl::Duration delay, UserRequest request, SweepId id, const std::string& what,
                Work work, Answered answered);
  Work RetryWork(SweepId id, std::vector<uint32_t> jobs, bool rerun);

  World& world_;
  Network& network_;
  Checker& checker_;
  History& history_;
  CoordinatorMachine& coordinator_;
  const Workload& workload_;
  bool meddle_ = false;
  int pending_ = 0;
  uint64_t requests_ = 0;
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_USERS_H_
