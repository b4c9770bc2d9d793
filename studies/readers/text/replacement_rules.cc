// SPDX-License-Identifier: Apache-2.0
// Code: google/sentencepiece 0.1.97, normalizer.cc; darts-clone.
#include "studies/readers/text/replacement_rules.h"

#include <cstring>

#include "absl/status/status.h"

namespace concur::readers {

absl::StatusOr<ReplacementRules> ReplacementRules::Parse(absl::string_view table) {
  ReplacementRules rules;
  if (table.empty()) {
    return rules;
  }
  uint32_t size = 0;
  if (table.size() < sizeof(size)) {
    return absl::InvalidArgumentError("a cut table of replacements");
  }
  std::memcpy(&size, table.data(), sizeof(size));
  const absl::string_view rest = table.substr(sizeof(size));
  if (size > rest.size() || size % sizeof(uint32_t) != 0) {
    return absl::InvalidArgumentError("a cut table of replacements");
  }
  rules.units_.resize(size / sizeof(uint32_t));
  if (size > 0) {
    std::memcpy(rules.units_.data(), rest.data(), size);
  }
  rules.replacements_ = std::string(rest.substr(size));
  return rules;
}

void ReplacementRules::ForEachRule(
    absl::string_view text, absl::FunctionRef<bool(size_t bytes, size_t value)> on_rule) const {
  const auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); };
  size_t node = units_.empty() ? 0 : offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || (units_[node] & ((1u << 31) | 0xFF)) != byte) {
      return;
    }
    const bool has_value = ((units_[node] >> 8) & 1) != 0;
    node ^= offset(units_[node]);
    if (has_value && node < units_.size() && !on_rule(i + 1, units_[node] & ~(1u << 31))) {
      return;
    }
  }
}

absl::string_view ReplacementRules::At(size_t value) const {
  const absl::string_view rest = absl::string_view(replacements_).substr(value);
  return rest.substr(0, rest.find('\0'));
}

std::optional<ReplacementRules::Match> ReplacementRules::Longest(absl::string_view text) const {
  constexpr size_t kRulesMax = 32;
  size_t found = 0;
  size_t longest = 0;
  size_t last = 0;
  ForEachRule(text, [&](size_t bytes, size_t value) {
    longest = bytes;
    last = value;
    return ++found < kRulesMax;
  });
  return longest > 0 && last < replacements_.size() ? std::optional(Match{At(last), longest})
                                                    : std::nullopt;
}

std::optional<ReplacementRules::Match> ReplacementRules::Shortest(absl::string_view text) const {
  std::optional<Match> match;
  ForEachRule(text, [&](size_t bytes, size_t value) {
    if (value < replacements_.size()) {
      match = Match{At(value), bytes};
    }
    return false;
  });
  return match;
}

}  // namespace concur::readers
