// SPDX-License-Identifier: Apache-2.0
// The text that an encoder is pretrained on: lines of files, and passages of data sets.
//
// Texts are hostile input. Thread-safe (stateless).
#ifndef CONCUR_READERS_TEXT_PRETRAINING_TEXT_H_
#define CONCUR_READERS_TEXT_PRETRAINING_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "readers/text/word_piece.h"

namespace concur::readers {

// The text is held in memory as pieces of four bytes.
inline constexpr int64_t kTextBytesMax = int64_t{1} << 30;

struct TextSources {
  std::vector<std::string> texts;     // files of lines in UTF-8
  std::vector<std::string> passages;  // data sets, whose passages are read
};

// Calls `on_text` with each line and each passage that is not empty, in order. InvalidArgument with
// file and line for text that is not UTF-8, for more than kTextBytesMax of it, and for none at all.
absl::Status ForEachText(const TextSources& sources,
                         absl::FunctionRef<void(absl::string_view text)> on_text);

// All texts as one sequence of pieces of a learned vocabulary; of special tokens that stand in a
// text only the unknown one is kept.
absl::StatusOr<std::vector<int32_t>> PiecesOfTexts(const TextSources& sources,
                                                   const WordPiece& tokenizer);

}  // namespace concur::readers

#endif  // CONCUR_READERS_TEXT_PRETRAINING_TEXT_H_
