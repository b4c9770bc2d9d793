// SPDX-License-Identifier: Apache-2.0
// All that clients of a campaign saw, in the order of time, for the search for an order that
// explains it (tests/sim/history.h).
//
// Thread-safe.
#ifndef CONCUR_TESTS_E2E_CAMPAIGN_HISTORY_H_
#define CONCUR_TESTS_E2E_CAMPAIGN_HISTORY_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "tests/sim/history.h"

namespace concur::testing {

class CampaignHistory {
 public:
  using Moment = sim::History::Moment;

  // Before the first call of a request, of which later ones may be repeats.
  Moment Begin(sim::UserRequest request, SweepId sweep) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return history_.Begin(request, sweep);
  }
  void End(sim::UserRequest request, SweepId sweep, Moment begun) {
    const std::lock_guard<std::mutex> lock(mutex_);
    history_.End(request, sweep, begun);
  }
  Moment BeginRead() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return history_.BeginRead();
  }
  void EndRead(SweepId sweep, Moment begun, sim::SeenSweep seen) {
    const std::lock_guard<std::mutex> lock(mutex_);
    history_.EndRead(sweep, begun, std::move(seen));
  }
  // The sweeps that any client submitted.
  std::vector<SweepId> sweeps() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return history_.sweeps();
  }
  uint64_t reads() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return history_.reads();
  }
  // Describes what no order explains; "" if there is nothing.
  std::string Check() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return history_.Check();
  }

 private:
  mutable std::mutex mutex_;
  sim::History history_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_CAMPAIGN_HISTORY_H_
