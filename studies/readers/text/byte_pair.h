// SPDX-License-Identifier: Apache-2.0
// RoBERTa's tokenizer, GPT-2's: words with the space before them, as bytes, of which the pair that
// was merged first in training is merged first (Radford et al., 2019). It has a piece for every
// text.
//
// Vocabularies, merges and texts are hostile input. Immutable.
#ifndef CONCUR_STUDIES_READERS_TEXT_BYTE_PAIR_H_
#define CONCUR_STUDIES_READERS_TEXT_BYTE_PAIR_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "studies/readers/text/piece.h"

namespace concur::readers {

struct BytePairOptions {
  // True if a text that does not begin with white space is read as if a space stood before it, as
  // the words of a text that was split are.
  bool prefix_space = false;
  // Python's makes nothing of white space alone.
  Implementation implementation = Implementation::kPython;
};

class BytePair {
 public:
  // vocab.json, an object of entries and ids, and merges.txt, a pair a line, the most important
  // first. InvalidArgument, with the place and entry or line, for what is not of that form,
  // repeated or absurd ids, a byte without an entry, and merges of or to what is no entry.
  static absl::StatusOr<BytePair> Parse(absl::string_view vocabulary,
                                        absl::string_view vocabulary_place,
                                        absl::string_view merges, absl::string_view merges_place,
                                        const BytePairOptions& options);
  // The same of values that were read from JSON, as a tokenizer.json has them.
  static absl::StatusOr<BytePair> FromEntries(
      const std::vector<std::pair<std::string, int32_t>>& vocabulary,
      const std::vector<std::pair<std::string, std::string>>& merges, absl::string_view place,
      const BytePairOptions& options);
  static absl::StatusOr<BytePair> Read(const std::string& vocabulary, const std::string& merges,
                                       const BytePairOptions& options);

  // Special tokens (<s>, <mask>, …) that stand in the text become their ids; none is added. <mask>
  // takes the white space before it. A piece's place leaves out its spaces at both ends, so that
  // pieces of spaces are empty. Time grows with n log n. REQUIRES: text.size() < 2^31.
  std::vector<Piece> Tokenize(absl::string_view text) const {
    return Tokenize(text, options_.prefix_space);
  }
  // With its own answer to BytePairOptions::prefix_space.
  std::vector<Piece> Tokenize(absl::string_view text, bool prefix_space) const;

  // One more than the largest id.
  int32_t size() const { return size_; }
  // "" for an id that is not used. REQUIRES: 0 <= id < size().
  const std::string& Entry(int32_t id) const { return entries_[static_cast<size_t>(id)]; }
  // -1 for what is not an entry.
  int32_t Id(absl::string_view entry) const;
  // The bytes that the pieces were made of; special tokens as they are.
  std::string BytesOf(absl::Span<const int32_t> ids) const;

 private:
  struct Merge {
    int32_t rank = 0;
    int32_t result = 0;
  };
  // A stretch of the word at hand.
  struct Symbol {
    int32_t id;
    uint32_t begin, end;
    int32_t previous, next;  // -1: none
  };

  absl::Status ParseVocabulary(absl::string_view json, absl::string_view place);
  absl::Status SetVocabulary(const std::vector<std::pair<std::string, int32_t>>& vocabulary,
                             absl::string_view place);
  absl::Status ParseMerges(absl::string_view text, absl::string_view place);
  absl::Status AddMerge(absl::string_view left, absl::string_view right, int32_t rank,
                        absl::string_view place);
  // Null when the two symbols, which may be -1, do not merge.
  const Merge* Find(const std::vector<Symbol>& symbols, int32_t left, int32_t right) const;
  std::vector<Piece> TokenizeAsItStands(absl::string_view text) const;
  void AddSegment(absl::string_view text, size_t begin, size_t end,
                  std::vector<Piece>& pieces) const;
  void AddWord(absl::string_view text, size_t begin, size_t end, std::vector<Piece>& pieces) const;

  BytePairOptions options_;
  absl::flat_hash_map<std::string, int32_t> ids_;
  std::vector<std::string> entries_;  // by id
  int32_t size_ = 0;
  std::array<int32_t, 256> byte_ids_ = {};
  absl::flat_hash_map<std::pair<int32_t, int32_t>, Merge> merges_;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_BYTE_PAIR_H_
