// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/served_approach.h"

#include <cstdint>
#include <vector>

#include "core/sweep/needs.h"

namespace concur {

const ApproachSpec& ServedApproach(const Expansion& expansion, JobId id) {
  const SweepSpec& spec = expansion.spec();
  const JobCoordinates at = expansion.Locate(id.ServedJob().index);
  const uint32_t own = expansion.blocks()[at.block].approach;
  const uint32_t place = id.ServicePlace();
  if (place == 0) {
    return spec.approaches[own];
  }
  const std::vector<uint32_t> needs = NeedsOf(spec, own, at.test_benchmark);
  return spec.approaches[place <= needs.size() ? needs[place - 1] : own];
}

}  // namespace concur
