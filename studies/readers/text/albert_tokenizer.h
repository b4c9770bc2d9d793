// SPDX-License-Identifier: Apache-2.0
// ALBERT's tokenizer: a SentencePiece model over text in lower case, without accents and with
// single spaces, whose numbers are cut from the comma after them. As the original library's Python
// does it.
//
// Texts are hostile input. Immutable.
#ifndef CONCUR_STUDIES_READERS_TEXT_ALBERT_TOKENIZER_H_
#define CONCUR_STUDIES_READERS_TEXT_ALBERT_TOKENIZER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "studies/readers/text/piece.h"
#include "studies/readers/text/sentence_piece.h"

namespace concur::readers {

struct AlbertOptions {
  bool lower_case = true;
  bool keep_accents = false;
};

class AlbertTokenizer {
 public:
  AlbertTokenizer(SentencePiece model, const AlbertOptions& options)
      : model_(std::move(model)), options_(options) {}

  // Special tokens ([CLS], [MASK], …) that stand in the text become their ids; none is added.
  // REQUIRES: text.size() < 2^29. Appends what each piece stands for to `shown`: of unknown ones,
  // their text.
  std::vector<Piece> Tokenize(absl::string_view text,
                              std::vector<std::string>* shown = nullptr) const;

  const SentencePiece& model() const { return model_; }

 private:
  void AddSegment(absl::string_view text, uint32_t offset, std::vector<Piece>& pieces,
                  std::vector<std::string>& shown) const;
  void AddPiece(const Piece& piece, const std::string& text, std::vector<Piece>& pieces,
                std::vector<std::string>& shown) const;

  SentencePiece model_;
  AlbertOptions options_;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_ALBERT_TOKENIZER_H_
