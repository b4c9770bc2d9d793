// SPDX-License-Identifier: Apache-2.0
// The source of the current time. Pure code takes times as arguments; the code that calls it holds
// a Clock. Tests use a SimulatedClock (tests/testing).
//
// Thread-safe.
#ifndef CONCUR_BASE_CLOCK_H_
#define CONCUR_BASE_CLOCK_H_

#include <string>

#include "absl/time/time.h"

namespace concur {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() = 0;
};

// The machine's clock, made monotonic: the wall time at construction plus the CLOCK_BOOTTIME that
// has passed since, so that setting the wall clock expires no lease.
class SystemClock : public Clock {
 public:
  SystemClock();
  absl::Time Now() override;

 private:
  absl::Time start_wall_;
  absl::Duration start_boot_;
};

// ISO 8601 in UTC: "2026-03-01T12:00:00Z", with milliseconds unless they are zero.
std::string FormatIsoTime(absl::Time time);

}  // namespace concur

#endif  // CONCUR_BASE_CLOCK_H_
