// SPDX-License-Identifier: Apache-2.0
// SentencePiece's rules for characters: a double array (darts-clone) of what is replaced, whose
// values point into the texts that replace it.
//
// Tables are hostile input: what leads out of them matches nothing. Immutable.
#ifndef CONCUR_STUDIES_READERS_TEXT_REPLACEMENT_RULES_H_
#define CONCUR_STUDIES_READERS_TEXT_REPLACEMENT_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::readers {

class ReplacementRules {
 public:
  struct Match {
    absl::string_view replacement;
    size_t bytes = 0;  // length of the match, from the text's start
  };

  // A precompiled table as models have it; "" has no rule. InvalidArgument when it is cut.
  static absl::StatusOr<ReplacementRules> Parse(absl::string_view table);

  // The rule for the longest beginning of the text, and the rule for the shortest one.
  std::optional<Match> Longest(absl::string_view text) const;
  std::optional<Match> Shortest(absl::string_view text) const;

 private:
  // Calls `on_rule` with length and value of each, shorter ones first, until it returns false.
  void ForEachRule(absl::string_view text,
                   absl::FunctionRef<bool(size_t bytes, size_t value)> on_rule) const;
  absl::string_view At(size_t value) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // each ended by a zero
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_REPLACEMENT_RULES_H_
