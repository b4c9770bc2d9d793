// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/turn.h"

#include <algorithm>
#include <vector>

namespace concur {

void Turn::Discard() {
  jobs_.clear();
  results_.clear();
  sweeps_.clear();
  effects_ = Effects{};
}

std::vector<JobId> Turn::Sorted(const absl::flat_hash_set<JobId>& ids) {
  std::vector<JobId> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace concur
