// Where answers stand in texts.
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

// The first place of `words` in `text`, from byte `from` on, that cuts no word: no letter or digit
// stands right before or behind it. Empty `words` are nowhere.
std::optional<Span> FindWords(absl::string_view text, absl::string_view words,
                              LetterCase letter_case = LetterCase::kExact, size_t from = 0);

// All such places, without overlaps.
std::vector<Span> FindAllWords(absl::string_view text, absl::string_view words);

inline absl::string_view TextOf(absl::string_view text, const Span& span) {
  return text.substr(static_cast<size_t>(span.begin), static_cast<size_t>(span.end - span.begin));
}

// Adds a span unless it is there.
void AddSpan(Span span, std::vector<Span>& spans);
// Adds an answer unless it is there.
void AddAnswer(absl::string_view answer, std::vector<std::string>& answers);

}  // namespace concur::qa

#endif  // CONCUR_QA_IMPORTERS_TEXT_SPANS_H_
