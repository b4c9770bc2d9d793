// SPDX-License-Identifier: Apache-2.0
#include "core/state/label_sets.h"

#include "base/check.h"

namespace concur {

uint32_t LabelSets::Add(const Labels& labels) {
  const auto [it, is_new] = numbers_.try_emplace(labels, static_cast<uint32_t>(sets_.size()));
  if (is_new) {
    sets_.push_back(labels);
  }
  return it->second;
}

void LabelSets::CheckInvariants() const {
  CONCUR_CHECK(sets_.size() == numbers_.size() && sets_.front().empty());
  for (const auto& [labels, number] : numbers_) {
    CONCUR_CHECK(sets_[number] == labels);
  }
}

}  // namespace concur
