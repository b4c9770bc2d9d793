// SPDX-License-Identifier: Apache-2.0
// The words that BERT's tokenizer cuts into pieces: without characters that have no look, in lower
// case and without accents where the vocabulary is; punctuation and Chinese characters stand alone.
//
// Texts are hostile input. Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_TEXT_BERT_WORDS_H_
#define CONCUR_STUDIES_READERS_TEXT_BERT_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "studies/readers/text/piece.h"

namespace concur::readers {

// Character of a word, from bytes [begin, end) of the text.
struct BertCharacter {
  int32_t code_point = 0;
  uint32_t begin = 0, end = 0;
  bool capital_sigma = false;  // was one, so that its lower case depends on its neighbours
};

struct BertWordOptions {
  bool lower_case = true;
  std::optional<bool> strip_accents = std::nullopt;  // not said: where case does not count
  bool split_chinese = true;
  Implementation implementation = Implementation::kPython;
  // True if a capital sigma at the end of a word becomes the final one, as lower() of the whole
  // word has it; pieces come from a text whose characters were lowered one by one.
  bool final_sigma = false;

  bool strips_accents() const { return strip_accents.value_or(lower_case); }
};

// Calls `on_word` with each word of `text`, which stands at `offset`. Words that equal one of
// `kept` before they are cut at punctuation stay whole.
void ForEachBertWord(absl::string_view text, uint32_t offset, const BertWordOptions& options,
                     absl::Span<const absl::string_view> kept,
                     absl::FunctionRef<void(absl::Span<const BertCharacter>)> on_word);

// The words as texts, with nothing kept, as Python's BasicTokenizer by itself has them.
std::vector<std::string> BertWords(absl::string_view text, const BertWordOptions& options);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_BERT_WORDS_H_
