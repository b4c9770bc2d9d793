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
//  - kHyperband: asynchronous successive halving with several `min`
//  (core/early_stop/early_stop_brackets.h).
//
// Deterministic: the same calls in the same order give the same decisions, so that a log of
// arrivals is enough to have them again. Equal scores (base/metric_meaning.h) are in the
// order of the settings' numbers.
// The basis of decisions does not depend on that order, but on each setting's own reports and on
// how far it was let go, its rung: with the two a restart has everything again (Restore).
//
// Thread-compatible; does no I/O and reads no clock.
#ifndef CONCUR_CORE_EARLY_STOP_EARLY_STOP_H_
#define CONCUR_CORE_EARLY_STOP_EARLY_STOP_H_

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

// "asha", "median", "hyperband".
enum class EarlyStopMethod { kAsha, kMedian, kHyperband };
absl::string_view EarlyStopMethodName(EarlyStopMethod method);
absl::StatusOr<EarlyStopMethod> EarlyStopMethodFromName(absl::string_view name);
// True if the method goes by rungs and eta.
inline bool Halves(EarlyStopMethod method) { return method != EarlyStopMethod::kMedian; }

inline constexpr size_t kMedianOthersMin = 3;
inline constexpr int64_t kEarlyStopEtaMax = 1'000;

struct EarlyStopRule {
  EarlyStopMethod method = EarlyStopMethod::kAsha;
  bool minimize = false;  // less of the score is better
  int64_t min = 1;        // steps before the first decision
  int64_t max = 1;        // steps of a whole training
  int64_t eta = 3;        // unless kMedian: one of so many goes on
};
// InvalidArgument unless 1 <= min <= max and, if the method halves, eta >= 2.
absl::Status CheckEarlyStopRule(const EarlyStopRule& rule);
// The steps of the rungs of a rule that halves: min, min · eta, …, max. REQUIRES: it is valid.
std::vector<int64_t> EarlyStopRungs(const EarlyStopRule& rule);

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
    kStopped,   // kMedian; or of kAsha for good
    kFinished,  // trained to the end
    kOut,       // takes no part: Withdraw
  };
  struct Point {
    int64_t step = 0;  // at least 1
    double value = 0;  // finite
  };

  // REQUIRES: CheckEarlyStopRule(rule), and not kHyperband.
  EarlyStop(const EarlyStopRule& rule, uint32_t settings);

  // The run that a free worker trains next; none when nothing can be decided before another Report,
  // or at all (done()).
  std::optional<Run> Next();
  // A setting has done `step` steps and scores `value`. False when it trains no further now: it has
  // reached `until`, or is stopped. Later reports of such a setting are kept for when it goes on.
  // REQUIRES: it has begun; steps grow; `value` is finite.
  bool Report(uint32_t setting, int64_t step, double value);
  // A setting's training ended before `until`, by itself: its best score stands, and going on costs
  // nothing. One that has reported nothing is worse than all others. REQUIRES: it has begun.
  void End(uint32_t setting);
  // The setting takes no part any more, as if it had never come: it failed, or trains to its end
  // whatever others do.
  void Withdraw(uint32_t setting);
  // A setting that was withdrawn or stopped begins anew: Next gives it, and nothing that it
  // reported counts.
  void Return(uint32_t setting);
  // A paused setting ends for good: it goes on no more, and still counts among those that reached
  // its rung. REQUIRES: it is paused.
  void Stop(uint32_t setting);
  // The setting, which has not begun, as it was before a restart: `rung` as RungOf gave it, all
  // that it reported in order, whether its training has ended by itself, and whether it was
  // stopped. DataLoss when the parts contradict each other.
  absl::Status Restore(uint32_t setting, size_t rung, const std::vector<Point>& points, bool ended,
                       bool stopped);

  State StateOf(uint32_t setting) const { return settings_[setting].state; }
  // Number of the rung that the setting may train to; it only grows until the setting begins anew.
  size_t RungOf(uint32_t setting) const { return settings_[setting].target; }
  // The steps of that rung.
  int64_t UntilOf(uint32_t setting) const { return rungs_[settings_[setting].target].steps; }
  // Number of settings that have reached the setting's rung.
  size_t ReachedRungOf(uint32_t setting) const {
    return rungs_[settings_[setting].target].reached.size();
  }
  uint32_t size() const { return static_cast<uint32_t>(settings_.size()); }
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
    double sum = 0;  // total of the reported values
    int64_t reports = 0;
    size_t target = 0;       // the rung that it trains for, or waits at
    std::vector<double> at;  // its best score when it came as far as each rung
    std::vector<std::pair<int64_t, double>> means;  // kMedian: what it has in means_
  };
  struct Rung {
    int64_t steps = 0;
    std::vector<Place> reached;  // sorted
    std::set<Place> waiting;     // those in `reached` that have not gone on
    uint32_t running = 0;        // towards it
  };

  // The setting that goes on from the highest rung from which one may, else the next to begin.
  std::optional<uint32_t> Peek() const;
  std::optional<uint32_t> PromotableFrom(size_t rung, bool is_closed) const;
  void Record(uint32_t setting, int64_t step, double value);
  void RecordEnd(Setting& setting);
  void GoOnIfWhole(uint32_t setting);
  void Begin(uint32_t setting);
  void Reach(uint32_t setting);
  bool IsBelowMedian(const Setting& setting, int64_t step) const;
  void Leave(uint32_t setting, State state);

  const EarlyStopRule rule_;
  std::vector<Setting> settings_;
  std::set<uint32_t> waiting_;  // to begin
  uint32_t taking_part_;
  uint32_t running_ = 0;
  std::vector<Rung> rungs_;                         // only one for kMedian, at max
  std::map<int64_t, std::multiset<double>> means_;  // kMedian: by step
};

}  // namespace concur

#endif  // CONCUR_CORE_EARLY_STOP_EARLY_STOP_H_
