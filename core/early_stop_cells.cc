// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop_cells.h"

namespace concur {

EarlyStopCells::EarlyStopCells(const Expansion& expansion)
    : expansion_(expansion), seeds_(static_cast<uint32_t>(expansion.spec().seeds.size())) {
  for (uint32_t index = 0; index < expansion.blocks().size(); ++index) {
    const Block& block = expansion.blocks()[index];
    first_group_.emplace_back();
    if (!block.has_train || block.settings < 2) {
      continue;
    }
    first_group_.back() = size();
    for (uint32_t seed = 0; seed < seeds_; ++seed) {
      groups_.push_back(
          {EarlyStop(expansion.spec().early_stop->rule, block.settings), index, seed});
    }
  }
}

std::optional<EarlyStopCells::Place> EarlyStopCells::Find(uint32_t job) const {
  const JobCoordinates at = expansion_.Locate(job);
  const std::optional<uint32_t> first = first_group_[at.block];
  if (!at.is_train || !first) {
    return std::nullopt;
  }
  return Place{*first + at.seed_index, at.setting};
}

uint32_t EarlyStopCells::JobOf(Place place) const {
  const Group& group = groups_[place.group];
  const Block& block = expansion_.blocks()[group.block];
  return block.first_job + (place.setting * seeds_ + group.seed_index) * block.JobsPerCell();
}

void EarlyStopCells::LetGo(uint32_t group) {
  while (groups_[group].rule.Next()) {
  }
}

}  // namespace concur
