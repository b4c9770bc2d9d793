// SPDX-License-Identifier: Apache-2.0
// Numbers of waiting and running jobs, and of workers, over the time since the coordinator
// started; and the quarantines of workers.
//
// In memory, and bounded: at most `samples_max` samples. Once there are so many every second one is
// dropped and half as many are taken, until they are `interval_max` apart; from then on the oldest
// is dropped. So the start of a coordinator is seen in detail, and a long run as a whole.
//
// Thread-safe; OnTurn is called on the engine's thread.
#ifndef CONCUR_COORDINATOR_ENGINE_FLEET_HISTORY_H_
#define CONCUR_COORDINATOR_ENGINE_FLEET_HISTORY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/engine/engine_observer.h"
#include "core/pools/pools.h"

namespace concur {

// Counts of one moment.
struct FleetSample {
  struct Pool {
    int32_t wanted = 0;
    int32_t pending = 0;
    int32_t starting = 0;
    int32_t working = 0;
    int32_t draining = 0;
  };
  absl::Time time;
  uint64_t jobs_ready = 0;
  uint64_t jobs_running = 0;
  uint64_t workers_live = 0;  // those in quarantine are among them
  uint64_t workers_draining = 0;
  uint64_t workers_quarantined = 0;  // FleetHistory fills it in
  std::map<std::string, Pool> pools = {};
};

struct QuarantineRecord {
  std::string worker;
  absl::Time begin;  // InfinitePast: before the coordinator started
  absl::Time end;    // when it ended, or is to end
  std::string reason;
};

struct FleetHistoryOptions {
  size_t samples_max = 720;
  absl::Duration interval = absl::Seconds(10);       // at first
  absl::Duration interval_max = absl::Seconds(160);  // 32 hours of 720
  size_t quarantines_max = 1000;
};

class FleetHistory : public EngineObserver {
 public:
  // `clock` outlives it.
  explicit FleetHistory(Clock& clock, FleetHistoryOptions options = {})
      : clock_(clock), options_(options), interval_(options.interval) {}

  // Records the workers that were in quarantine when the coordinator started.
  void Begin(const std::vector<WorkerView>& workers);
  void OnTurn(const Turn& turn, const Effects& effects) override;

  // Counts of now.
  static FleetSample Take(const Scheduler& scheduler, const Pools& pools, absl::Time now);
  // Keeps it, unless the last one is too new.
  void Add(FleetSample sample);

  struct Contents {
    std::vector<FleetSample> samples;           // ascending
    std::vector<QuarantineRecord> quarantines;  // the latest first
  };
  Contents Get() const;

 private:
  void SetQuarantine(const std::string& worker, absl::Time begin, absl::Time end,
                     const std::string& reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndQuarantine(const std::string& worker, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const FleetHistoryOptions options_;

  mutable Mutex mutex_;
  absl::Duration interval_ ABSL_GUARDED_BY(mutex_);
  std::deque<FleetSample> samples_ ABSL_GUARDED_BY(mutex_);
  std::deque<QuarantineRecord> quarantines_ ABSL_GUARDED_BY(mutex_);  // that have ended
  // By worker; bounded by the workers that the scheduler keeps.
  std::map<std::string, QuarantineRecord> present_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_FLEET_HISTORY_H_
