// SPDX-License-Identifier: Apache-2.0
// Amount of work that got done lately: every rate and estimate of the time left is made from it.
//
// Work is counted over the last minute, or since it began. Time in which nothing could get done,
// because nothing ran, does not count until something gets done again.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_WORK_METER_H_
#define CONCUR_CORE_STATE_WORK_METER_H_

#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace concur {

// `jobs` ended in the last `span`; nothing is known when `span` is zero.
struct RecentWork {
  uint64_t jobs = 0;
  absl::Duration span;

  friend bool operator==(const RecentWork&, const RecentWork&) = default;
};

class WorkMeter {
 public:
  static constexpr absl::Duration kWindow = absl::Minutes(1);

  // `done` jobs have ended up to now; some run from now on, or none does. The meter starts anew
  // when the number is smaller than before (jobs were returned to the queue), and when the clock
  // was set back.
  void Add(absl::Time now, uint64_t done, bool some_run);
  RecentWork Recent(absl::Time now) const;

 private:
  // Samples are so far apart: a minute of them is bounded.
  static constexpr absl::Duration kSpacing = absl::Seconds(1);
  struct Sample {
    absl::Time time;
    uint64_t done = 0;
  };

  std::deque<Sample> samples_;  // samples of the window, and the last one before it
  uint64_t done_ = 0;
  bool some_run_ = false;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_WORK_METER_H_
