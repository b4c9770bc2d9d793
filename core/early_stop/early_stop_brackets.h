// SPDX-License-Identifier: Apache-2.0
// Hyperband (Li et al., 2018, "Hyperband: A Novel Bandit-Based Approach to Hyperparameter
// Optimization") in an asynchronous form: the settings of a cell are dealt to brackets, each of
// which is an EarlyStop of its own by asynchronous successive halving. The brackets differ in their
// `min`: one for each rung, from the rule's `min` to `max`, where nothing stops. So a rule that
// halves too early for some curves does not decide alone. The other methods have one bracket.
//
// A setting's bracket depends on its number alone: with more settings, each keeps its own. Bracket
// b of B gets settings in proportion to eta^(B-1-b) / (B-b), as in the publication, so that all
// brackets cost about as much.
//
// Immutable.
#ifndef CONCUR_CORE_EARLY_STOP_EARLY_STOP_BRACKETS_H_
#define CONCUR_CORE_EARLY_STOP_EARLY_STOP_BRACKETS_H_

#include <cstdint>
#include <vector>

#include "core/early_stop/early_stop.h"

namespace concur {

class EarlyStopBrackets {
 public:
  struct Place {
    uint32_t bracket = 0;
    uint32_t number = 0;  // within the bracket, in the order of settings

    friend bool operator==(const Place&, const Place&) = default;
  };

  // REQUIRES: CheckEarlyStopRule(rule).
  EarlyStopBrackets(const EarlyStopRule& rule, uint32_t settings);

  // Rule that each bracket decides by: never kHyperband.
  const std::vector<EarlyStopRule>& rules() const { return rules_; }
  Place PlaceOf(uint32_t setting) const { return places_[setting]; }
  uint32_t SettingAt(Place place) const { return settings_[place.bracket][place.number]; }
  // Number of brackets that the first `settings` settings are in, always the first ones, and number
  // of these settings that are in one bracket. REQUIRES: there are so many.
  uint32_t CountFor(uint32_t settings) const;
  uint32_t SizeOf(uint32_t bracket, uint32_t settings) const;

 private:
  std::vector<EarlyStopRule> rules_;
  std::vector<Place> places_;                    // by setting
  std::vector<std::vector<uint32_t>> settings_;  // by bracket and number
};

}  // namespace concur

#endif  // CONCUR_CORE_EARLY_STOP_EARLY_STOP_BRACKETS_H_
