// SPDX-License-Identifier: Apache-2.0
// What the tokenizers of pretrained encoders make of a text.
#ifndef CONCUR_READERS_TEXT_PIECE_H_
#define CONCUR_READERS_TEXT_PIECE_H_

#include <cstdint>

namespace concur::readers {

// An entry of the vocabulary, for bytes [begin, end) of the text; both are character boundaries.
// Pieces stand in the order of the text. Several may share a character, when it was decomposed.
struct Piece {
  int32_t id = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

// The original library has each tokenizer twice, and the two differ where characters are younger
// than their tables: by these a text becomes the ids that one of them made of it.
enum class Implementation {
  kPython,  // "slow": Unicode 14; characters that are not assigned there are dropped
  kRust,    // "fast": characters that its tables do not know are kept
};

}  // namespace concur::readers

#endif  // CONCUR_READERS_TEXT_PIECE_H_
