// Where time comes from. Code that decides takes a time as an argument; code
// that drives it holds a Clock. Tests hold a SimulatedClock (tests/testing).
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

// The machine's clock, made monotonic: wall time at construction plus the time
// of CLOCK_BOOTTIME since, so that a step of the wall clock ends no lease.
class SystemClock : public Clock {
 public:
  SystemClock();
  absl::Time Now() override;

 private:
  absl::Time start_wall_;
  absl::Duration start_boot_;
};

// "2026-03-01T12:00:00Z", with milliseconds when there are any. ISO 8601, UTC.
std::string FormatIsoTime(absl::Time time);

}  // namespace concur

#endif  // CONCUR_BASE_CLOCK_H_
