// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, models/bert/tokenization_bert.py; tokenizers (Rust), models/wordpiece.
#include "studies/readers/text/word_piece.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace concur::readers {
namespace {

constexpr int64_t kVocabularyBytesMax = 64 << 20;
constexpr size_t kPieceEntriesMax = 1 << 24;
constexpr size_t kPieceBytesMax = 1 << 10;

constexpr absl::string_view kBertSpecials[] = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};

}  // namespace

absl::StatusOr<WordPiece> WordPiece::Parse(absl::string_view vocabulary, absl::string_view place,
                                           const WordPieceOptions& options) {
  WordPiece made;
  made.options_ = options;
  while (!vocabulary.empty()) {
    const size_t end = std::min(vocabulary.find('\n'), vocabulary.size());
    const absl::string_view entry = absl::StripSuffix(vocabulary.substr(0, end), "\r");
    vocabulary.remove_prefix(std::min(end + 1, vocabulary.size()));
    CONCUR_RETURN_IF_ERROR(
        made.AddEntry(entry, absl::StrCat(place, ":", made.entries_.size() + 1)));
  }
  return std::move(made).Finished(place);
}

absl::StatusOr<WordPiece> WordPiece::FromEntries(absl::Span<const std::string> entries,
                                                 absl::string_view place,
                                                 const WordPieceOptions& options) {
  WordPiece made;
  made.options_ = options;
  for (const std::string& entry : entries) {
    CONCUR_RETURN_IF_ERROR(
        made.AddEntry(entry, absl::StrCat(place, ": id ", made.entries_.size())));
  }
  return std::move(made).Finished(place);
}

absl::Status WordPiece::AddEntry(absl::string_view entry, absl::string_view place) {
  const auto invalid = [place](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", message));
  };
  if (entry.size() > kPieceBytesMax) {
    return invalid(
        absl::StrCat("an entry of ", entry.size(), " bytes, more than ", kPieceBytesMax));
  }
  if (entries_.size() == kPieceEntriesMax) {
    return invalid(absl::StrCat("more than ", kPieceEntriesMax, " entries"));
  }
  if (!IsUtf8(entry)) {
    return invalid("not UTF-8");
  }
  const auto id = static_cast<int32_t>(entries_.size());
  entries_.emplace_back(entry);
  starts_.insert_or_assign(entries_.back(), id);
  if (absl::StartsWith(entry, "##")) {
    rests_.insert_or_assign(entries_.back().substr(2), id);
  }
  entry_bytes_max_ = std::max(entry_bytes_max_, entry.size());
  return absl::OkStatus();
}

absl::StatusOr<WordPiece> WordPiece::Finished(absl::string_view place) && {
  unknown_ = Id("[UNK]");
  if (unknown_ < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": no entry [UNK]: not BERT's vocabulary"));
  }
  return std::move(*this);
}

absl::StatusOr<WordPiece> WordPiece::Read(const std::string& path,
                                          const WordPieceOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kVocabularyBytesMax));
  return Parse(text, path, options);
}

int32_t WordPiece::Id(absl::string_view entry) const {
  const auto found = starts_.find(entry);
  return found == starts_.end() ? -1 : found->second;
}

std::vector<Piece> WordPiece::Tokenize(absl::string_view text) const {
  std::vector<Piece> pieces;
  uint32_t done = 0;
  for (const Piece& special :
       FindSpecials(text, kBertSpecials, [this](absl::string_view entry) { return Id(entry); })) {
    AddText(text.substr(done, special.begin - done), done, pieces);
    pieces.push_back(special);
    done = special.end;
  }
  AddText(text.substr(done), done, pieces);
  return pieces;
}

// Appends the pieces of `text`, which stands at `offset`.
void WordPiece::AddText(absl::string_view text, uint32_t offset, std::vector<Piece>& pieces) const {
  // Python's tokenizer also keeps a special token that only the dropped characters hid; without
  // case it is in lower case by then.
  const bool keeps =
      !options_.words.lower_case && options_.words.implementation == Implementation::kPython;
  ForEachBertWord(
      text, offset, options_.words,
      keeps ? absl::MakeConstSpan(kBertSpecials) : absl::Span<const absl::string_view>(),
      [&](absl::Span<const BertCharacter> word) { AddPieces(word, pieces); });
}

// The longest entry that is there, then the longest of the rest, and so on; one unknown piece when
// that leads nowhere.
void WordPiece::AddPieces(absl::Span<const BertCharacter> characters,
                          std::vector<Piece>& pieces) const {
  std::string bytes;
  std::vector<size_t> ends = {0};  // end of each character in `bytes`
  for (const BertCharacter& character : characters) {
    AppendCodePoint(character.code_point, bytes);
    ends.push_back(bytes.size());
  }
  const size_t before = pieces.size();
  const size_t count = characters.size();
  size_t from = 0;
  while (from < count && count <= options_.word_characters_max) {
    const auto& entries = from == 0 ? starts_ : rests_;
    auto found = entries.end();
    size_t to = count;
    for (; to > from && found == entries.end(); --to) {
      const size_t length = ends[to] - ends[from];
      if (length <= entry_bytes_max_) {
        found = entries.find(absl::string_view(bytes).substr(ends[from], length));
      }
    }
    if (found == entries.end()) {
      break;
    }
    pieces.push_back({found->second, characters[from].begin, characters[to].end});
    from = to + 1;
  }
  if (from < count) {
    pieces.resize(before);
    pieces.push_back({unknown_, characters.front().begin, characters.back().end});
  }
}

}  // namespace concur::readers
