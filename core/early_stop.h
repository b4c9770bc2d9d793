// SPDX-License-Identifier: Apache-2.0
// Which settings of a cell's approach go on training, decided from the scores that they report on
// the way. A setting is stopped by others of its own approach, train set and seed alone: approaches
// are never compared.
//
//  - kAsha: asynchronous successive halving (Li et al., 2020, "A System for Massively Parallel
//    Hyperparameter Tuning"). Rungs are at min, min · eta, min · eta², …, max steps. A setting that
//    has reached a rung waits there, and goes on to the next when it is among the best 1/eta of
//    those that have, rounded down; rounded up once nobody else can come, so that one setting
//    reaches the last rung however few there are.
//  - kMedian: the median stopping rule (Golovin et al., 2017, "Google Vizier"). From `min` steps on
//    a setting ends whose best score is worse than the median, over the settings that have reported
//    at the same step, of the means of their scores up to there. Until kMedianOthersMin have, none
//    is stopped.
//
// Deterministic: the same calls in the same order give the same decisions, so that a log of
// arrivals is enough to have them again. Equal scores are in the order of the settings' numbers.
//
// Thread-compatible; does no I/O and reads no clock.
#ifndef CONCUR_CORE_EARLY_STOP_H_
#define CONCUR_CORE_EARLY_STOP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

// "asha", "median".
enum class EarlyStopMethod { kAsha, kMedian };
absl::string_view EarlyStopMethodName(EarlyStopMethod method);
absl::StatusOr<EarlyStopMethod> EarlyStopMethodFromName(absl::string_view name);

inline constexpr size_t kMedianOthersMin = 3;

struct EarlyStopRule {
  EarlyStopMethod method = EarlyStopMethod::kAsha;
  bool minimize = false;  // less of the score is better
  int64_t min = 1;        // steps before the first decision
  int64_t max = 1;        // steps of a whole training
  int64_t eta = 3;        // kAsha: one of so many goes on
};
// InvalidArgument unless 1 <= min <= max and eta >= 2.
absl::Status CheckEarlyStopRule(const EarlyStopRule& rule);

class EarlyStop {
 public:
  // A setting trains until it has done `until` steps, from step `from`, 0 at its start.
  struct Run {
    uint32_t setting = 0;
    int64_t from = 0;
    int64_t until = 0;

    friend bool operator==(const Run&, const Run&) = default;
  };
  enum class State {
    kWaiting,   // has not begun
    kRunning,   // Next gave it
    kPaused,    // kAsha: at a rung; may go on, and loses at the end
    kStopped,   // kMedian
    kFinished,  // trained to the end
  };

  // REQUIRES: CheckEarlyStopRule(rule).
  EarlyStop(const EarlyStopRule& rule, uint32_t settings);

  // What a free worker trains next; none when nothing can be decided before another Report, or at
  // all (done()).
  std::optional<Run> Next();
  // A running setting has done `step` steps and scores `value`. False when it trains no further
  // now: it has reached `until`, or is stopped. REQUIRES: it runs; steps grow; `value` is finite.
  bool Report(uint32_t setting, int64_t step, double value);
  // A running setting's training ended before `until`, by itself: its best score stands, and going
  // on costs nothing. One that has reported nothing has failed, and is worse than all others.
  void End(uint32_t setting);

  State StateOf(uint32_t setting) const { return settings_[setting].state; }
  // Nothing runs, and nothing will.
  bool done() const { return running_ == 0 && !Peek(); }
  // The best of the settings that finished; empty when none did, or all failed.
  std::optional<uint32_t> Selected() const;

 private:
  // Best first. Values are negated where less is better.
  struct Place {
    double value = 0;
    uint32_t setting = 0;

    friend bool operator<(const Place& a, const Place& b) {
      return a.value != b.value ? a.value > b.value : a.setting < b.setting;
    }
  };
  struct Setting {
    State state = State::kWaiting;
    bool ended = false;  // by itself
    int64_t step = 0;
    double best;     // so far
    double sum = 0;  // of the reported values
    int64_t reports = 0;
    size_t target = 0;  // kAsha: the rung that it trains for, or waits at
  };
  struct Rung {
    int64_t steps = 0;
    std::vector<Place> reached;  // sorted
    std::set<Place> waiting;     // of those, not gone on
    uint32_t running = 0;        // towards it
  };

  // The setting that goes on from the highest rung from which one may, else the next to begin.
  std::optional<uint32_t> Peek() const;
  std::optional<uint32_t> PromotableFrom(size_t rung, bool is_closed) const;
  void Reach(uint32_t setting);
  bool IsBelowMedian(const Setting& setting, int64_t step) const;
  void Leave(uint32_t setting, State state);

  const EarlyStopRule rule_;
  std::vector<Setting> settings_;
  uint32_t begun_ = 0;
  uint32_t running_ = 0;
  std::vector<Rung> rungs_;                         // of kMedian one, at max
  std::map<int64_t, std::multiset<double>> means_;  // kMedian: by step
};

}  // namespace concur

#endif  // CONCUR_CORE_EARLY_STOP_H_
