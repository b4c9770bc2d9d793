// SPDX-License-Identifier: Apache-2.0
// A cluster in a test: a provider with a queue, workers that come late, jobs, and faults. Moves in
// steps of a second.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_CORE_POOLS_POOL_SIMULATION_H_
#define CONCUR_TESTS_CORE_POOLS_POOL_SIMULATION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/random.h"
#include "core/pools/pools.h"

namespace concur::testing {

struct PoolFaults {
  double refuse = 0;        // a start is refused
  double lose_answer = 0;   // a start happens, and its answer is lost
  double lose_pilot = 0;    // a start is acknowledged, and forgotten
  double blind = 0;         // an observation fails
  double die = 0;           // a working pilot dies, each second
  double leave = 0;         // a working pilot leaves in good order and ends, each second
  bool taken_back = false;  // the provider says that it ended those
  double never_join = 0;    // a pilot runs, and its worker never comes
};

// Bugs that can be injected, one at a time, to show that the checks of a world find them.
enum class PoolBug {
  kNone,
  kSupplyIsCertain,  // a waiting pilot is awaited, whatever its provider says and however long
  kRestoredIsLive,   // a worker that has not called since a restart is taken for live
  kTakenBackFails,   // a pilot that its provider ended is a failure of its pool
  kImageForgotten,   // after a restart a pilot counts for another image than it was started for
};

class PoolSimulation {
 public:
  PoolSimulation(uint64_t seed, PoolFaults faults, PoolBug bug = PoolBug::kNone)
      : faults_(faults), bug_(bug), random_(seed, "pools"), pools_(MakePools()) {}

  Pools& pools() { return *pools_; }
  absl::Time now() const { return now_; }
  void SetFaults(PoolFaults faults) { faults_ = faults; }
  // Workers of the provider that run at a time; more wait in its queue.
  void SetSlots(int slots) { slots_ = slots; }
  // Workers of these pools, or images, never start; with `impossible`, the provider says so.
  void SetStuck(std::set<std::string> pools, bool impossible) {
    stuck_ = std::move(pools);
    stuck_impossible_ = impossible;
  }
  // `image`: of the jobs' environment; "": none.
  void AddJobs(int count, absl::Duration run_time, const std::string& image = "") {
    jobs_[{image, run_time}] += count;
  }
  int jobs_left() const;
  int alive() const;    // pilots that the provider has
  int working() const;  // those of them whose workers have come
  int started() const { return started_; }
  int most_alive() const { return most_alive_; }
  int alive_of(const std::string& image) const;
  // The pilots that count for another image than they were started for.
  std::vector<std::string> OfAnotherImage() const;
  void Step();
  void Steps(int count);
  // Steps until no job is left and no more than `rest` pilots are; false after `limit` steps.
  bool RunToEnd(int rest, int limit = 20'000);
  // The coordinator dies and comes back with what was saved.
  void Restart();
  // The provider forgets everything but what runs.
  void ForgetQueue();

 private:
  struct Machine {
    PoolSpec pool;
    std::string image;
    absl::Time asked;
    absl::Time runs_since = absl::InfiniteFuture();
    bool joins = true;
    bool joined = false;
    bool draining = false;
    bool ended = false;
    bool called = true;            // since the coordinator started
    absl::Time last_call;          // or the coordinator's start
    std::vector<absl::Time> busy;  // when each of its jobs ends
  };
  bool IsStuck(const Machine& machine) const {
    return stuck_.contains(machine.pool.name) || stuck_.contains(machine.image);
  }
  PoolWorld World() const;
  void Carry();
  void Start(const PoolActions::Start& start);
  void Observe(ProviderKind kind);
  void RunMachines();
  void GiveJobs(Machine& machine);
  std::unique_ptr<Pools> MakePools() const;
  void Save();

  PoolFaults faults_;
  const PoolBug bug_;
  Random random_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::unique_ptr<Pools> pools_;
  std::map<std::string, Machine> machines_;
  std::map<std::pair<std::string, absl::Duration>, int> jobs_;  // by image and run time
  int slots_ = 1000;
  std::set<std::string> stuck_;
  bool stuck_impossible_ = false;
  int started_ = 0;
  int most_alive_ = 0;
  std::map<std::string, PoolRow> pool_rows_;
  std::map<std::string, PilotRow> pilot_rows_;
  uint64_t next_pilot_ = 1;
  std::vector<PoolSpec> specs_;  // those added, by their encoding
  friend void AddPool(PoolSimulation& simulation, PoolSpec spec);
};

// Adds a pool as a user would. REQUIRES: it is valid.
void AddPool(PoolSimulation& simulation, PoolSpec spec);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_CORE_POOLS_POOL_SIMULATION_H_
