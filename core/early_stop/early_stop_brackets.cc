// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop/early_stop_brackets.h"

#include <algorithm>
#include <cstddef>

namespace concur {
namespace {

std::vector<EarlyStopRule> RulesOf(const EarlyStopRule& rule) {
  if (rule.method != EarlyStopMethod::kHyperband) {
    return {rule};
  }
  std::vector<EarlyStopRule> rules;
  for (const int64_t steps : EarlyStopRungs(rule)) {
    EarlyStopRule& bracket = rules.emplace_back(rule);
    bracket.method = EarlyStopMethod::kAsha;
    bracket.min = steps;
  }
  return rules;
}

// The share of each bracket in all settings.
std::vector<double> SharesOf(size_t brackets, int64_t eta) {
  std::vector<double> shares(brackets);
  double weight = 1;  // eta to the number of rungs below max
  double sum = 0;
  for (size_t rungs = 1; rungs <= brackets; ++rungs) {
    shares[brackets - rungs] = weight / static_cast<double>(rungs);
    sum += shares[brackets - rungs];
    weight *= static_cast<double>(eta);
  }
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

}  // namespace

EarlyStopBrackets::EarlyStopBrackets(const EarlyStopRule& rule, uint32_t settings)
    : rules_(RulesOf(rule)), settings_(rules_.size()) {
  const std::vector<double> shares = SharesOf(rules_.size(), rule.eta);
  for (uint32_t setting = 0; setting < settings; ++setting) {
    // To the bracket that lacks most of its share; of equals, to the one that stops earliest.
    const auto lack = [&](uint32_t bracket) {
      return shares[bracket] * (setting + 1.0) - static_cast<double>(settings_[bracket].size());
    };
    uint32_t bracket = 0;
    for (uint32_t other = 1; other < rules_.size(); ++other) {
      bracket = lack(other) > lack(bracket) ? other : bracket;
    }
    places_.push_back({bracket, static_cast<uint32_t>(settings_[bracket].size())});
    settings_[bracket].push_back(setting);
  }
}

uint32_t EarlyStopBrackets::CountFor(uint32_t settings) const {
  uint32_t count = 0;
  while (count < settings_.size() && SizeOf(count, settings) > 0) {
    ++count;
  }
  return count;
}

uint32_t EarlyStopBrackets::SizeOf(uint32_t bracket, uint32_t settings) const {
  const std::vector<uint32_t>& all = settings_[bracket];
  return static_cast<uint32_t>(std::lower_bound(all.begin(), all.end(), settings) - all.begin());
}

}  // namespace concur
