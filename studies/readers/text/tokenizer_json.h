// SPDX-License-Identifier: Apache-2.0
// The tokenizer.json in which the original library's Rust keeps a tokenizer: normalization, how
// words are cut, and the vocabulary.
//
// Hostile input: memory is bounded by the file's size. Values.
#ifndef CONCUR_STUDIES_READERS_TEXT_TOKENIZER_JSON_H_
#define CONCUR_STUDIES_READERS_TEXT_TOKENIZER_JSON_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/text/byte_pair.h"
#include "studies/readers/text/fast_albert.h"
#include "studies/readers/text/replacement_rules.h"
#include "studies/readers/text/word_piece.h"

namespace concur::readers {

inline constexpr int64_t kTokenizerJsonBytesMax = 64 << 20;

struct TokenizerJson {
  struct Words {
    std::vector<std::string> entries;  // by id
    WordPieceOptions options;
  };
  struct Pairs {
    std::vector<std::pair<std::string, int32_t>> vocabulary;
    std::vector<std::pair<std::string, std::string>> merges;
    BytePairOptions options;
  };
  struct Unigram {
    std::vector<FastAlbert::Item> entries;
    int64_t unknown = -1;
    ReplacementRules rules;
    FastAlbertOptions options;
  };
  std::variant<Words, Pairs, Unigram> model;
};

// InvalidArgument, with `place` and field, for what is damaged, and for steps that the families
// here do not have: texts would be cut otherwise than the file says.
absl::StatusOr<TokenizerJson> ParseTokenizerJson(absl::string_view json, absl::string_view place);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_TOKENIZER_JSON_H_
