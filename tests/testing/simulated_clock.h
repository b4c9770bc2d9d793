// SPDX-License-Identifier: Apache-2.0
// A clock that only Advance moves.
#ifndef CONCUR_TESTS_TESTING_SIMULATED_CLOCK_H_
#define CONCUR_TESTS_TESTING_SIMULATED_CLOCK_H_

#include "absl/time/time.h"
#include "base/clock.h"

namespace concur::testing {

// Thread-compatible.
class SimulatedClock : public Clock {
 public:
  explicit SimulatedClock(absl::Time now = absl::FromUnixSeconds(1'700'000'000)) : now_(now) {}
  absl::Time Now() override { return now_; }
  void Advance(absl::Duration by) { now_ += by; }

 private:
  absl::Time now_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_SIMULATED_CLOCK_H_
