// SPDX-License-Identifier: Apache-2.0
// ALBERT's tokenizer as the original library's Rust has it: the unigram model's pieces over a text
// that a list of steps has changed, each word cut by itself. It differs from Python's where white
// space ends a text, in characters without a look, and around special tokens.
//
// Models and texts are hostile input: memory is bounded by the file's size. Immutable.
#ifndef CONCUR_STUDIES_READERS_TEXT_FAST_ALBERT_H_
#define CONCUR_STUDIES_READERS_TEXT_FAST_ALBERT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/text/piece.h"
#include "studies/readers/text/replacement_rules.h"
#include "studies/readers/text/sentence_piece.h"

namespace concur::readers {

struct FastAlbertOptions {
  bool lower_case = true;
  bool keep_accents = false;
  bool replace_quotes = true;   // `` and '' are "
  bool join_spaces = true;      // several are one
  bool split_at_space = false;  // before words get their "▁": no piece has white space
};

class FastAlbert {
 public:
  struct Item {
    std::string text;
    double score = 0;
  };

  // The scores of pieces that end in a digit and a comma are lowered, as the original does it.
  static absl::StatusOr<FastAlbert> FromModel(const SentencePiece& model, absl::string_view place,
                                              const FastAlbertOptions& options);
  // A tokenizer.json's vocabulary, which has these scores already. InvalidArgument, with `place`,
  // for entries that are no text, too long or too many, and for an unknown id beyond them.
  static absl::StatusOr<FastAlbert> FromEntries(std::vector<Item> entries, int64_t unknown,
                                                ReplacementRules rules, absl::string_view place,
                                                const FastAlbertOptions& options);

  // As AlbertTokenizer::Tokenize. Places are those of the original: a word's has the white space
  // before it.
  std::vector<Piece> Tokenize(absl::string_view text,
                              std::vector<std::string>* shown = nullptr) const;

  int32_t size() const { return static_cast<int32_t>(entries_.size()); }
  const std::string& Entry(int32_t id) const { return entries_[static_cast<size_t>(id)].text; }
  int32_t Id(absl::string_view text) const;
  int32_t unknown() const { return unknown_; }

 private:
  struct Character {
    int32_t code_point = 0;
    uint32_t begin = 0, end = 0;  // in the text
  };
  using Characters = std::vector<Character>;

  Characters Changed(absl::string_view text, uint32_t offset) const;
  Characters ByRules(const Characters& characters) const;
  void AddSegment(absl::string_view text, uint32_t offset, std::vector<Piece>& pieces,
                  std::vector<std::string>& shown) const;
  void AddWord(const Character* first, const Character* last, std::vector<Piece>& pieces,
               std::vector<std::string>& shown) const;

  FastAlbertOptions options_;
  std::vector<Item> entries_;
  absl::flat_hash_map<std::string, int32_t> pieces_;  // and each of their beginnings, as -1
  ReplacementRules rules_;
  int32_t unknown_ = 0;
  double score_min_ = 0;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_FAST_ALBERT_H_
