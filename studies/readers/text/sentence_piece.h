// SPDX-License-Identifier: Apache-2.0
// SentencePiece's unigram models (Kudo, 2018), which ALBERT reads: a text's characters are replaced
// by the model's rules, spaces become "▁", and of all ways to cut that into pieces the most
// probable one is taken. Read from the .model file without Google's library, which trusts the
// tables in it.
//
// Models and texts are hostile input: memory is bounded by the file's size. Immutable.
#ifndef CONCUR_STUDIES_READERS_TEXT_SENTENCE_PIECE_H_
#define CONCUR_STUDIES_READERS_TEXT_SENTENCE_PIECE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "studies/readers/text/piece.h"
#include "studies/readers/text/replacement_rules.h"

namespace concur::readers {

// Stands for a space in pieces.
inline constexpr absl::string_view kSpaceSymbol = "\xe2\x96\x81";

class SentencePiece {
 public:
  // A .model file. InvalidArgument, with `place`, for what is damaged, is no unigram model, or
  // falls back to bytes.
  static absl::StatusOr<SentencePiece> Parse(absl::string_view model, absl::string_view place);
  static absl::StatusOr<SentencePiece> Read(const std::string& path);

  // The pieces of the text; neighbours that are unknown are one. A piece may be empty when only the
  // "▁" before the text is in it. An ill-formed byte counts as U+FFFD. REQUIRES: text.size() <
  // 2^31. Appends what each piece stands for to `shown`: of unknown ones, their text.
  std::vector<Piece> Tokenize(absl::string_view text,
                              std::vector<std::string>* shown = nullptr) const;

  // The text of the pieces as the original puts it together again.
  std::string Joined(absl::Span<const int32_t> ids) const;

  int32_t size() const { return static_cast<int32_t>(entries_.size()); }
  // REQUIRES: 0 <= id < size().
  const std::string& Entry(int32_t id) const { return entries_[static_cast<size_t>(id)].text; }
  // The id of what the model lists under this text, of whatever type; -1 when it does not.
  int32_t Id(absl::string_view text) const;
  int32_t unknown() const { return unknown_; }
  // REQUIRES: 0 <= id < size().
  float Score(int32_t id) const { return entries_[static_cast<size_t>(id)].score; }
  const ReplacementRules& rules() const { return rules_; }

 private:
  enum class Kind { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5 };
  struct Item {
    std::string text;
    float score = 0;
    Kind kind = Kind::kNormal;
  };
  // The text by the model's rules, and from which byte each byte comes; one more for the end.
  struct Normalized {
    std::string text;
    std::vector<uint32_t> origin;
  };

  absl::Status ParseEntry(absl::string_view message);
  absl::Status ParseRules(absl::string_view message);
  absl::Status Finish();
  std::pair<absl::string_view, size_t> Replace(absl::string_view text) const;
  Normalized Normalize(absl::string_view text) const;

  std::vector<Item> entries_;
  absl::flat_hash_map<std::string, int32_t> pieces_;  // and each of their beginnings, as kBeginning
  absl::flat_hash_map<std::string, int32_t> others_;  // pieces of other types
  absl::flat_hash_set<std::string> user_defined_;
  size_t user_defined_bytes_max_ = 0;
  int32_t unknown_ = -1;
  float score_min_ = 0, score_max_ = 0;
  bool dummy_prefix_ = true, remove_spaces_ = true;
  ReplacementRules rules_;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_SENTENCE_PIECE_H_
