// SPDX-License-Identifier: Apache-2.0
// The early stopping of one sweep: an EarlyStop for each approach, train set, seed and bracket,
// which compares the settings that have a train job there.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_EARLY_STOP_CELLS_H_
#define CONCUR_CORE_STATE_EARLY_STOP_CELLS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/early_stop/early_stop.h"
#include "core/early_stop/early_stop_brackets.h"
#include "core/sweep/expansion.h"

namespace concur {

class EarlyStopCells {
 public:
  // A train job among those that it is compared with.
  struct Place {
    uint32_t group = 0;
    uint32_t setting = 0;  // its number within the group
  };

  // No setting has begun. `expansion` outlives this. REQUIRES: its spec has early_stop.
  explicit EarlyStopCells(const Expansion& expansion);

  // nullopt when the job is no train job, or is compared with no other.
  std::optional<Place> Find(uint32_t job) const;
  uint32_t JobOf(Place place) const;
  uint32_t size() const { return static_cast<uint32_t>(groups_.size()); }
  EarlyStop& operator[](uint32_t group) { return groups_[group].rule; }
  const EarlyStop& operator[](uint32_t group) const { return groups_[group].rule; }
  // Lets everything go on that may. Workers come and go, so that what may train is not kept back
  // for want of one: all settings begin at once, and the scheduler gives them out as it gives all
  // jobs.
  void LetGo(uint32_t group);

 private:
  // The first of the block's settings that are compared.
  uint32_t FirstSetting(uint32_t block) const;

  struct Group {
    EarlyStop rule;
    uint32_t block = 0;
    uint32_t seed_index = 0;
    uint32_t bracket = 0;
  };

  const Expansion& expansion_;
  const uint32_t seeds_;
  const EarlyStopBrackets brackets_;
  std::vector<Group> groups_;
  // By block; the groups of a seed stand together.
  std::vector<std::optional<uint32_t>> first_group_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_EARLY_STOP_CELLS_H_
