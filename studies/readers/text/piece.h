// SPDX-License-Identifier: Apache-2.0
// Pieces that the tokenizers of pretrained encoders make of a text, and what they share.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_TEXT_PIECE_H_
#define CONCUR_STUDIES_READERS_TEXT_PIECE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

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
  kRust,    // "fast": Unicode 8; characters that its tables do not know are kept
};

// True if the implementation's tables of Unicode have the character.
bool Knows(Implementation implementation, int32_t code_point);

// Unicode's full decompositions: NFD, or NFKD with those of compatibility.
enum class Decomposition { kCanonical, kCompatible };

// Calls `take` with each character that the character decomposes into; with itself where it does
// not.
void ForEachDecomposed(int32_t code_point, Decomposition kind,
                       absl::FunctionRef<void(int32_t)> take);

// The number of code points that begin before each byte of the text; the last entry is the total.
std::vector<uint32_t> CodePointsBefore(absl::string_view text);

// Appends the character in UTF-8.
void AppendCodePoint(int32_t code_point, std::string& text);

// The special tokens that stand in the text, in order; `id_of` returns -1 for those that a
// vocabulary lacks. REQUIRES: each of `specials` begins with "[" or "<" and has it nowhere else.
std::vector<Piece> FindSpecials(absl::string_view text,
                                absl::Span<const absl::string_view> specials,
                                absl::FunctionRef<int32_t(absl::string_view)> id_of);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_PIECE_H_
