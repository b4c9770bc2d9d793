// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a pretrained encoder's checkpoint, of whatever kind its files say: WordPiece
// (vocab.txt), byte-level BPE (vocab.json and merges.txt), ALBERT's SentencePiece (spiece.model),
// or any of them in a tokenizer.json.
//
// Files and texts are hostile input. Immutable.
#ifndef CONCUR_STUDIES_READERS_TEXT_CHECKPOINT_TOKENIZER_H_
#define CONCUR_STUDIES_READERS_TEXT_CHECKPOINT_TOKENIZER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "studies/readers/text/albert_tokenizer.h"
#include "studies/readers/text/byte_pair.h"
#include "studies/readers/text/fast_albert.h"
#include "studies/readers/text/piece.h"
#include "studies/readers/text/word_piece.h"

namespace concur::readers {

// Paths; "" for what is not there.
struct TokenizerFiles {
  std::string vocabulary;    // vocab.txt
  std::string byte_entries;  // vocab.json
  std::string merges;        // merges.txt
  std::string model;         // spiece.model
  std::string json;          // tokenizer.json
  std::string config;        // tokenizer_config.json
};

// Finds the tokenizer files in a checkpoint's folder. NotFound when there are none.
absl::StatusOr<TokenizerFiles> TokenizerFilesIn(const std::string& directory);

struct TokenizerOptions {
  Implementation implementation = Implementation::kPython;
  // Options not set here are as tokenizer_config.json says, or else as the original library has
  // them: without case.
  std::optional<bool> lower_case = std::nullopt;
  std::optional<bool> strip_accents = std::nullopt;
  std::optional<bool> split_chinese = std::nullopt;
  std::optional<bool> keep_accents = std::nullopt;  // ALBERT's
  std::optional<bool> prefix_space = std::nullopt;  // byte-level BPE's
};

class CheckpointTokenizer {
 public:
  enum class Kind { kWordPiece, kBytePair, kAlbert };

  // The Rust implementation reads tokenizer.json where there is one, and then none of the options;
  // Python's reads it only where there is nothing else. Errors name file and field; InvalidArgument
  // also for ALBERT's Python from a tokenizer.json, which lacks what it needs.
  static absl::StatusOr<CheckpointTokenizer> Read(const TokenizerFiles& files,
                                                  const TokenizerOptions& options);

  // A tokenizer.json. InvalidArgument, with `place` and field, for what would cut texts otherwise.
  static absl::StatusOr<CheckpointTokenizer> ParseJson(absl::string_view json,
                                                       absl::string_view place,
                                                       Implementation implementation);

  // Special tokens that stand in the text become their ids; none is added. `word`: the text is a
  // word that stood after a space. REQUIRES: text.size() < 2^29.
  std::vector<Piece> Tokenize(absl::string_view text, bool word = false) const;

  // Text that each of these pieces, of this text, stands for, as the original shows it.
  std::vector<std::string> Shown(absl::string_view text, absl::Span<const Piece> pieces) const;

  Kind kind() const { return kind_; }
  bool lower_case() const { return lower_case_; }
  int32_t size() const;
  // REQUIRES: 0 <= id < size().
  const std::string& Entry(int32_t id) const;
  // -1 for what is no entry.
  int32_t Id(absl::string_view entry) const;
  // The text of the pieces as the original puts it together again.
  std::string Joined(absl::Span<const int32_t> ids) const;

  // Python's model of ALBERT; null for other tokenizers.
  const SentencePiece* sentence_piece() const {
    const auto* albert = std::get_if<AlbertTokenizer>(&cutter_);
    return albert == nullptr ? nullptr : &albert->model();
  }

  // Tokens that stand before, between and after texts, and in empty places.
  int32_t first_id() const { return first_; }
  int32_t separator_id() const { return separator_; }
  int32_t padding_id() const { return padding_; }
  int32_t mask_id() const { return mask_; }
  int32_t unknown_id() const { return unknown_; }
  // Number of separators between two texts.
  int64_t separators() const { return kind_ == Kind::kBytePair ? 2 : 1; }

 private:
  using Cutter = std::variant<WordPiece, BytePair, AlbertTokenizer, FastAlbert>;

  CheckpointTokenizer(Kind kind, Cutter cutter, bool lower_case)
      : kind_(kind), cutter_(std::move(cutter)), lower_case_(lower_case) {}

  // Finds the special tokens' ids; InvalidArgument, with `place`, when one is missing.
  static absl::StatusOr<CheckpointTokenizer> Make(Kind kind, Cutter cutter, bool lower_case,
                                                  absl::string_view place,
                                                  Implementation implementation = {});

  Kind kind_;
  Cutter cutter_;
  bool lower_case_;
  bool fast_ = false;  // true for Rust's tokenizer; matters for byte-level BPE
  int32_t first_ = 0, separator_ = 0, padding_ = 0, mask_ = 0, unknown_ = 0;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_CHECKPOINT_TOKENIZER_H_
