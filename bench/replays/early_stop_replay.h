// SPDX-License-Identifier: Apache-2.0
// Replay of a rule of early stopping on recorded learning curves: which setting it would have
// selected, and how much training it would have saved. Workers are simulated on a clock of costs.
//
// Thread-safe (stateless); deterministic.
#ifndef CONCUR_BENCH_REPLAYS_EARLY_STOP_REPLAY_H_
#define CONCUR_BENCH_REPLAYS_EARLY_STOP_REPLAY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/early_stop/early_stop.h"

namespace concur {

// Learning curve of one setting that was trained to its end.
struct LearningCurve {
  struct Point {
    int64_t step = 0;
    double value = 0;
  };
  std::vector<Point> points;  // steps grow, from at least 1; values are finite
  double cost_per_step = 1;   // seconds, or any unit; more than 0
};

// A step of the replay, in the order in which it happened: the log of arrivals.
struct EarlyStopEvent {
  enum class Kind { kBegin, kGoOn, kReport, kPause, kStop, kFinish };
  Kind kind = Kind::kBegin;
  double time = 0;  // in the unit of costs
  uint32_t setting = 0;
  int64_t step = 0;
  double value = 0;  // kReport
};
absl::string_view EarlyStopEventName(EarlyStopEvent::Kind kind);

struct EarlyStopReplay {
  std::optional<uint32_t> best;      // with all settings trained to the end
  std::optional<uint32_t> selected;  // with early stopping
  double best_value = 0;             // the best score on the curve of `best`
  double selected_value = 0;
  double full_cost = 0;
  double cost = 0;
  uint32_t finished = 0;  // settings that were trained to the end
  std::vector<EarlyStopEvent> events;
};

// Trains the settings of one cell on `workers` workers; an empty curve is a setting that failed.
// Points beyond rule.max are left out of account. REQUIRES: CheckEarlyStopRule(rule), workers >= 1.
EarlyStopReplay ReplayEarlyStop(const EarlyStopRule& rule, const std::vector<LearningCurve>& curves,
                                uint32_t workers);

}  // namespace concur

#endif  // CONCUR_BENCH_REPLAYS_EARLY_STOP_REPLAY_H_
