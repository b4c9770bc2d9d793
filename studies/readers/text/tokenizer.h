// SPDX-License-Identifier: Apache-2.0
// Splits text into tokens that know where they stand, so that an answer is a piece of the passage.
// The rules are those that the Penn Treebank's tokenizer and spaCy share where answers are
// concerned: punctuation and hyphens stand alone, clitics are cut off ("do n't", "Ann 's"), numbers
// and abbreviations keep their points ("3.5", "U.S.", "Mr."). Markers of cloze data sets stay
// whole:
// "@entity12", "@placeholder", "<P>".
//
// Pure functions.
#ifndef CONCUR_STUDIES_READERS_TEXT_TOKENIZER_H_
#define CONCUR_STUDIES_READERS_TEXT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::readers {

// Bytes [begin, end) of a text; both ends are character boundaries.
struct Token {
  uint32_t begin = 0;
  uint32_t end = 0;

  absl::string_view In(absl::string_view text) const { return text.substr(begin, end - begin); }
  friend bool operator==(const Token&, const Token&) = default;
};

// Tokens in order; none is empty, and only white space lies between them. An ill-formed byte is a
// token of its own. REQUIRES: text.size() < 2^32.
std::vector<Token> Tokenize(absl::string_view text);

// True if a token stands for something that a data set's authors replaced: "@entity12",
// "@placeholder", "XXXXX". Such tokens have embeddings of their own, whatever vectors there are.
bool IsMarker(absl::string_view token);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_TOKENIZER_H_
