// SPDX-License-Identifier: Apache-2.0
// BERT's tokenizer, ELECTRA's and SpanBERT's too: words and punctuation, each cut into the longest
// entries of a vocabulary from its start (Devlin et al., 2019). Characters without a look are
// dropped, Chinese ones stand alone, and without case accents are dropped as well.
//
// Vocabularies and texts are hostile input. Immutable.
#ifndef CONCUR_STUDIES_READERS_TEXT_WORD_PIECE_H_
#define CONCUR_STUDIES_READERS_TEXT_WORD_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "studies/readers/text/bert_words.h"
#include "studies/readers/text/piece.h"

namespace concur::readers {

struct WordPieceOptions {
  BertWordOptions words;
  size_t word_characters_max = 100;  // longer words are unknown
};

class WordPiece {
 public:
  // A vocab.txt: an entry a line, numbered from 0; of equal entries the last one counts. Entries
  // that go on with a word begin with "##". InvalidArgument, with `place` and line, for text that
  // is not UTF-8, too long an entry, too many of them, or no [UNK].
  static absl::StatusOr<WordPiece> Parse(absl::string_view vocabulary, absl::string_view place,
                                         const WordPieceOptions& options);
  // The same of entries that are numbered in their order.
  static absl::StatusOr<WordPiece> FromEntries(absl::Span<const std::string> entries,
                                               absl::string_view place,
                                               const WordPieceOptions& options);
  static absl::StatusOr<WordPiece> Read(const std::string& path, const WordPieceOptions& options);

  // Special tokens ([CLS], [SEP], …) that stand in the text become their ids; none is added. An
  // ill-formed byte is dropped. REQUIRES: text.size() < 2^31.
  std::vector<Piece> Tokenize(absl::string_view text) const;

  int32_t size() const { return static_cast<int32_t>(entries_.size()); }
  // REQUIRES: 0 <= id < size().
  const std::string& Entry(int32_t id) const { return entries_[static_cast<size_t>(id)]; }
  // -1 for what is not an entry.
  int32_t Id(absl::string_view entry) const;

 private:
  absl::Status AddEntry(absl::string_view entry, absl::string_view place);
  absl::StatusOr<WordPiece> Finished(absl::string_view place) &&;
  void AddText(absl::string_view text, uint32_t offset, std::vector<Piece>& pieces) const;
  void AddPieces(absl::Span<const BertCharacter> characters, std::vector<Piece>& pieces) const;

  WordPieceOptions options_;
  std::vector<std::string> entries_;
  absl::flat_hash_map<std::string, int32_t> starts_;  // entries that begin a word
  absl::flat_hash_map<std::string, int32_t> rests_;   // those that go on with one, without "##"
  size_t entry_bytes_max_ = 0;
  int32_t unknown_ = 0;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_WORD_PIECE_H_
