// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop_cells.h"

#include <algorithm>

namespace concur {
namespace {

uint32_t MostSettings(const Expansion& expansion) {
  uint32_t most = 0;
  for (const Block& block : expansion.blocks()) {
    most = std::max(most, block.settings);
  }
  return most;
}

}  // namespace

EarlyStopCells::EarlyStopCells(const Expansion& expansion)
    : expansion_(expansion),
      seeds_(static_cast<uint32_t>(expansion.spec().seeds.size())),
      brackets_(expansion.spec().early_stop->rule, MostSettings(expansion)) {
  for (uint32_t index = 0; index < expansion.blocks().size(); ++index) {
    const Block& block = expansion.blocks()[index];
    first_group_.emplace_back();
    // What others start from is trained to its end, whatever its settings' scores.
    if (!block.has_train || block.settings < 2 || expansion.IsSource(index)) {
      continue;
    }
    first_group_.back() = size();
    for (uint32_t seed = 0; seed < seeds_; ++seed) {
      for (uint32_t bracket = 0; bracket < brackets_.CountFor(block.settings); ++bracket) {
        groups_.push_back(
            {EarlyStop(brackets_.rules()[bracket], brackets_.SizeOf(bracket, block.settings)),
             index, seed, bracket});
      }
    }
  }
}

std::optional<EarlyStopCells::Place> EarlyStopCells::Find(uint32_t job) const {
  const JobCoordinates at = expansion_.Locate(job);
  const std::optional<uint32_t> first = first_group_[at.block];
  if (!at.is_train || !first) {
    return std::nullopt;
  }
  const EarlyStopBrackets::Place place = brackets_.PlaceOf(at.setting);
  const uint32_t brackets = brackets_.CountFor(expansion_.blocks()[at.block].settings);
  return Place{*first + at.seed_index * brackets + place.bracket, place.number};
}

uint32_t EarlyStopCells::JobOf(Place place) const {
  const Group& group = groups_[place.group];
  const Block& block = expansion_.blocks()[group.block];
  const uint32_t setting = brackets_.SettingAt({group.bracket, place.setting});
  return block.first_job + (setting * seeds_ + group.seed_index) * block.JobsPerCell();
}

void EarlyStopCells::LetGo(uint32_t group) {
  while (groups_[group].rule.Next()) {
  }
}

}  // namespace concur
