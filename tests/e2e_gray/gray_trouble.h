// SPDX-License-Identifier: Apache-2.0
// Gray failures of a campaign: nothing dies, but the coordinator's or the workers' syncs take 20 ms
// to 2 s, processes are stopped in bursts as if others had the processors, or for longer than a
// lease, the wall clock is set, and what one side of the workers' connection sends does not arrive.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_E2E_GRAY_GRAY_TROUBLE_H_
#define CONCUR_TESTS_E2E_GRAY_GRAY_TROUBLE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "tests/e2e/campaign.h"
#include "tests/e2e_gray/gray_control.h"
#include "tests/e2e_gray/stall_proxy.h"

namespace concur::testing {

class GrayTrouble : public Trouble {
 public:
  enum class Kind { kSlowSync, kHog, kPause, kClock, kOneWay };
  static constexpr size_t kKinds = 5;

  // `faults` of them, the kinds in turn. Each lasts for at most so long.
  GrayTrouble(Cluster& cluster, uint64_t seed, int workers, int faults,
              std::chrono::milliseconds longest);
  ~GrayTrouble() override;

  void Start() override;
  void Run(CampaignProgress& progress) override;

  std::string ToString() const;
  const std::array<int, kKinds>& counts() const { return counts_; }
  // Its effects on the programs.
  int64_t syncs_delayed() const;
  int64_t clock_reads() const;
  size_t held_bytes() { return proxy_->held_bytes(); }

 private:
  static constexpr size_t kPrograms = 2;  // the coordinator, and all workers
  void Strike(Kind kind, std::chrono::milliseconds duration);
  void Hog(bool coordinator, std::chrono::milliseconds duration);
  void Signal(bool coordinator, int signal) const;

  Cluster& cluster_;
  Random random_;
  const int workers_;
  const int faults_;
  const std::chrono::milliseconds longest_;
  std::array<GrayControl*, kPrograms> controls_{};
  std::optional<StallProxy> proxy_;
  std::array<int, kKinds> counts_{};
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_GRAY_GRAY_TROUBLE_H_
