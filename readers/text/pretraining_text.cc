// SPDX-License-Identifier: Apache-2.0
#include "readers/text/pretraining_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "qa/dataset_io.h"
#include "readers/text/word_piece_learner.h"

namespace concur::readers {
namespace {

// Gives texts on, and counts them.
class TextCounter {
 public:
  explicit TextCounter(absl::FunctionRef<void(absl::string_view)> on_text) : on_text_(on_text) {}

  absl::Status Take(absl::string_view text, absl::string_view place) {
    bytes_ += static_cast<int64_t>(text.size());
    if (bytes_ > kTextBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": more than ", kTextBytesMax, " bytes of text; give less"));
    }
    const size_t invalid = FindInvalidUtf8(text);
    if (invalid != absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": not UTF-8 at byte ", invalid + 1,
                                                     "; convert it, with iconv for instance"));
    }
    if (!absl::StripAsciiWhitespace(text).empty()) {
      any_ = true;
      on_text_(text);
    }
    return absl::OkStatus();
  }

  bool any() const { return any_; }

 private:
  absl::FunctionRef<void(absl::string_view)> on_text_;
  int64_t bytes_ = 0;
  bool any_ = false;
};

}  // namespace

absl::Status ForEachText(const TextSources& sources,
                         absl::FunctionRef<void(absl::string_view text)> on_text) {
  TextCounter counter(on_text);
  for (const std::string& path : sources.texts) {
    CONCUR_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, kTextBytesMax));
    absl::string_view rest = contents;
    for (int64_t line = 1; !rest.empty(); ++line) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      CONCUR_RETURN_IF_ERROR(counter.Take(rest.substr(0, end), absl::StrCat(path, ":", line)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  for (const std::string& path : sources.passages) {
    CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(
        path, [&](const qa::Passage& passage) { return counter.Take(passage.context, path); }));
  }
  if (!counter.any()) {
    return absl::InvalidArgumentError(
        "no text to learn from: expected lines in the files of --text, or passages in those of "
        "--passages");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> PiecesOfTexts(const TextSources& sources,
                                                   const WordPiece& tokenizer) {
  std::vector<int32_t> ids;
  CONCUR_RETURN_IF_ERROR(ForEachText(sources, [&](absl::string_view text) {
    for (const Piece& piece : tokenizer.Tokenize(text)) {
      if (piece.id >= kLearnedSpecials || piece.id == kLearnedUnknown) {
        ids.push_back(piece.id);
      }
    }
  }));
  return ids;
}

}  // namespace concur::readers
