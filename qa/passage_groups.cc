// SPDX-License-Identifier: Apache-2.0
#include "qa/passage_groups.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"

namespace concur::qa {

uint32_t PassageGroups::RootOf(uint32_t passage) const {
  while (parents_[passage] != passage) {
    passage = parents_[passage];
  }
  return passage;
}

void PassageGroups::Add(absl::string_view context) {
  const auto number = static_cast<uint32_t>(parents_.size());
  const bool goes_on = !previous_.empty() && absl::StartsWith(context, previous_);
  const auto [equal, is_new] = first_.try_emplace(Sha256Of(context), number);
  uint32_t root = is_new ? number : RootOf(equal->second);
  parents_.push_back(root);
  if (goes_on) {
    const uint32_t story = RootOf(number - 1);
    parents_[std::max(root, story)] = std::min(root, story);
  }
  previous_.assign(context.data(), context.size());
}

std::vector<uint32_t> PassageGroups::Numbers() const {
  std::vector<uint32_t> numbers(parents_.size());
  uint32_t count = 0;
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    const uint32_t root = RootOf(i);
    numbers[i] = root == i ? count++ : numbers[root];
  }
  return numbers;
}

}  // namespace concur::qa
