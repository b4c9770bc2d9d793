// SPDX-License-Identifier: Apache-2.0
// Shared by all parts of one simulated world: time, random numbers, the trace, counts of faults and
// the first violation.
//
// One thread. Deterministic: the same seed gives the same world, event for event.
#ifndef CONCUR_TESTS_SIM_WORLD_H_
#define CONCUR_TESTS_SIM_WORLD_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <queue>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/random.h"
#include "tests/sim/bugs.h"
#include "tests/sim/faults.h"

namespace concur::sim {

class World {
 public:
  // `trace` gets a line for each event; null: no trace.
  World(uint64_t seed, const FaultRates& rates, Bug bug, std::ostream* trace);

  // --- time -------------------------------------------------------------------------------------

  absl::Time now() const { return now_; }
  absl::Duration age() const { return now_ - kStart; }
  // Runs `work` at `at`, or now if that is past; events of equal times run in the order of the
  // calls.
  void At(absl::Time time, std::function<void()> work);
  void After(absl::Duration delay, std::function<void()> work) {
    At(now_ + delay, std::move(work));
  }
  // Runs the next event. False if there is none.
  bool RunNext();
  uint64_t steps() const { return steps_; }

  // --- random numbers ---------------------------------------------------------------------------

  Random& random() { return random_; }
  // A time from `low` to `high`.
  absl::Duration Between(absl::Duration low, absl::Duration high);
  const FaultRates& rates() const { return rates_; }
  // Draws whether a fault of this kind happens now, and counts it. Never after StopFaults.
  bool Strikes(Fault fault);
  // Counts a fault that was drawn elsewhere.
  void Count(Fault fault) { ++counts_[static_cast<size_t>(fault)]; }
  void StopFaults() { faults_ = false; }
  bool faults() const { return faults_; }
  const FaultCounts& counts() const { return counts_; }
  Bug bug() const { return bug_; }

  // --- trace and violations ---------------------------------------------------------------------

  bool tracing() const { return trace_ != nullptr; }
  // Callers check tracing() first, so that no text is built without a trace.
  void Trace(absl::string_view text);
  // Records a violation. Only the first is kept, as others may be its consequences.
  void Fail(std::string violation);
  bool failed() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }

 private:
  static constexpr absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

  struct Event {
    absl::Time time;
    uint64_t number;
    std::function<void()> work;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };

  const FaultRates rates_;
  const Bug bug_;
  std::ostream* const trace_;
  Random random_;
  absl::Time now_ = kStart;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  uint64_t next_number_ = 0;
  uint64_t steps_ = 0;
  bool faults_ = true;
  FaultCounts counts_{};
  std::string violation_;
};

// A machine's clock: the world's time with an offset.
class MachineClock : public Clock {
 public:
  explicit MachineClock(const World& world) : world_(world) {}
  absl::Time Now() override { return world_.now() + offset_; }
  void Jump(absl::Duration by) { offset_ += by; }
  // The world's time at which this clock shows `time`.
  absl::Time ToWorld(absl::Time time) const { return time - offset_; }

 private:
  const World& world_;
  absl::Duration offset_;
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_WORLD_H_
