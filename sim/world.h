// What all parts of one simulated world share: its time, its chance, its record of what happened,
// and the first promise that was broken.
//
// One thread. Deterministic: the same seed gives the same world, event for event.
#ifndef CONCUR_SIM_WORLD_H_
#define CONCUR_SIM_WORLD_H_

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
#include "sim/bugs.h"
#include "sim/faults.h"

namespace concur::sim {

class World {
 public:
  // `trace` gets a line for everything that happens; null: no trace.
  World(uint64_t seed, const FaultRates& rates, Bug bug, std::ostream* trace);

  // --- time -------------------------------------------------------------------------------------

  absl::Time now() const { return now_; }
  absl::Duration age() const { return now_ - kStart; }
  // Runs `work` at a time, or now when that is past; equal times in the order of these calls.
  void At(absl::Time time, std::function<void()> work);
  void After(absl::Duration delay, std::function<void()> work) {
    At(now_ + delay, std::move(work));
  }
  // Carries out the next event. False when there is none.
  bool RunNext();
  uint64_t steps() const { return steps_; }

  // --- chance -----------------------------------------------------------------------------------

  Random& random() { return random_; }
  // A time from `low` to `high`.
  absl::Duration Between(absl::Duration low, absl::Duration high);
  const FaultRates& rates() const { return rates_; }
  // Whether a fault of this kind strikes now; counts it. Never after StopFaults.
  bool Strikes(Fault fault);
  // Counts a fault that was decided on elsewhere.
  void Count(Fault fault) { ++counts_[static_cast<size_t>(fault)]; }
  void StopFaults() { faults_ = false; }
  bool faults() const { return faults_; }
  const FaultCounts& counts() const { return counts_; }
  Bug bug() const { return bug_; }

  // --- record -----------------------------------------------------------------------------------

  bool tracing() const { return trace_ != nullptr; }
  // Callers ask tracing() first, so that a world without a trace builds no text.
  void Trace(absl::string_view text);
  // A promise is broken. Only the first one is kept: what follows may be its consequence.
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

// A machine's clock: the world's, and some way off.
class MachineClock : public Clock {
 public:
  explicit MachineClock(const World& world) : world_(world) {}
  absl::Time Now() override { return world_.now() + offset_; }
  void Jump(absl::Duration by) { offset_ += by; }
  // When the world's clock shows what this one calls `time`.
  absl::Time ToWorld(absl::Time time) const { return time - offset_; }

 private:
  const World& world_;
  absl::Duration offset_;
};

}  // namespace concur::sim

#endif  // CONCUR_SIM_WORLD_H_
