// SPDX-License-Identifier: Apache-2.0
// Finds answers in texts.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_IMPORTERS_TEXT_SPANS_H_
#define CONCUR_QA_IMPORTERS_TEXT_SPANS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "qa/example.h"

namespace concur::qa {

enum class LetterCase { kExact, kIgnoreAscii };

// The first occurrence of `words` in `text`, from byte `from` on, as whole words: no letter or
// digit is next to it. Empty `words` are not found.
std::optional<Span> FindWords(absl::string_view text, absl::string_view words,
                              LetterCase letter_case = LetterCase::kExact, size_t from = 0);

// All such occurrences, without overlaps.
std::vector<Span> FindAllWords(absl::string_view text, absl::string_view words);

// Adds an answer unless it is in the list.
void AddAnswer(absl::string_view answer, std::vector<std::string>& answers);

}  // namespace concur::qa

#endif  // CONCUR_QA_IMPORTERS_TEXT_SPANS_H_
