// SPDX-License-Identifier: Apache-2.0
// The tokenizers of pretrained encoders: files of vocabularies, and texts. The first half of the
// input is the file, the second the text. Pieces stand in order, at boundaries of characters.
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "readers/text/word_piece.h"
#include "tests/fuzz/fuzz.h"

namespace concur::readers {
namespace {

void CheckPieces(const std::vector<Piece>& pieces, absl::string_view text, int32_t entries) {
  uint32_t at = 0;
  for (const Piece& piece : pieces) {
    CONCUR_CHECK(at <= piece.begin && piece.begin < piece.end && piece.end <= text.size());
    CONCUR_CHECK(piece.id >= 0 && piece.id < entries);
    at = piece.begin;
  }
}

void TryWordPiece(absl::string_view file, absl::string_view text) {
  for (const bool lower_case : {false, true}) {
    for (const Implementation implementation : {Implementation::kPython, Implementation::kRust}) {
      const auto tokenizer = WordPiece::Parse(file, "vocab.txt", {lower_case, implementation});
      if (!tokenizer.ok()) {
        CONCUR_CHECK(absl::IsInvalidArgument(tokenizer.status()));
        return;
      }
      CheckPieces(tokenizer->Tokenize(text), text, tokenizer->size());
    }
  }
}

}  // namespace
}  // namespace concur::readers

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view all = concur::testing::Text(data, size);
  concur::readers::TryWordPiece(all.substr(0, size / 2), all.substr(size / 2));
  return 0;
}
