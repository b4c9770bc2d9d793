// SPDX-License-Identifier: Apache-2.0
#include "core/state/early_stop_cells.h"

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
    if (!block.has_train || block.settings < FirstSetting(index) + 2) {
      continue;
    }
    const uint32_t settings = block.settings - FirstSetting(index);
    first_group_.back() = size();
    for (uint32_t seed = 0; seed < seeds_; ++seed) {
      for (uint32_t bracket = 0; bracket < brackets_.CountFor(settings); ++bracket) {
        groups_.push_back(
            {EarlyStop(brackets_.rules()[bracket], brackets_.SizeOf(bracket, settings)), index,
             seed, bracket});
      }
    }
  }
}

// The default setting, if others start from it, is trained to its end whatever its score.
uint32_t EarlyStopCells::FirstSetting(uint32_t block) const {
  return expansion_.IsSource(block) ? 1 : 0;
}

std::optional<EarlyStopCells::Place> EarlyStopCells::Find(uint32_t job) const {
  const JobCoordinates at = expansion_.Locate(job);
  const std::optional<uint32_t> first = first_group_[at.block];
  const uint32_t first_setting = FirstSetting(at.block);
  if (!at.is_train || !first || at.setting < first_setting) {
    return std::nullopt;
  }
  const EarlyStopBrackets::Place place = brackets_.PlaceOf(at.setting - first_setting);
  const uint32_t brackets =
      brackets_.CountFor(expansion_.blocks()[at.block].settings - first_setting);
  return Place{*first + at.seed_index * brackets + place.bracket, place.number};
}

uint32_t EarlyStopCells::JobOf(Place place) const {
  const Group& group = groups_[place.group];
  const Block& block = expansion_.blocks()[group.block];
  const uint32_t setting =
      FirstSetting(group.block) + brackets_.SettingAt({group.bracket, place.setting});
  return block.first_job + (setting * seeds_ + group.seed_index) * block.JobsPerCell();
}

void EarlyStopCells::LetGo(uint32_t group) {
  while (groups_[group].rule.Next()) {
  }
}

}  // namespace concur
