// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, models/bert/tokenization_bert.py; tokenizers (Rust),
// normalizers/bert.rs, pre_tokenizers/bert.rs, models/wordpiece.
#include "readers/text/word_piece.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace concur::readers {
namespace {

constexpr int64_t kVocabularyBytesMax = 64 << 20;
constexpr size_t kPieceEntriesMax = 1 << 24;
constexpr size_t kPieceBytesMax = 1 << 10;
constexpr size_t kWordCharactersMax = 100;  // longer words are unknown

constexpr absl::string_view kBertSpecials[] = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};

// The general category in the implementation's tables.
int8_t CategoryOf(UChar32 c, Implementation implementation) {
  return Knows(implementation, c) ? u_charType(c) : static_cast<int8_t>(U_UNASSIGNED);
}

bool IsChinese(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// What is dropped: control and format characters, private use, U+FFFD, and in Python's tables what
// is not assigned.
bool IsDropped(UChar32 c, Implementation implementation) {
  if (c < 0x80) {
    return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
  }
  if (c == 0xFFFD) {
    return true;
  }
  const int8_t category = CategoryOf(c, implementation);
  if (category == U_UNASSIGNED) {
    return implementation == Implementation::kPython;
  }
  return (U_MASK(category) & U_GC_C_MASK) != 0;
}

bool IsBertSpace(UChar32 c) { return c < 0x80 ? c <= ' ' : (U_GET_GC_MASK(c) & U_GC_Z_MASK) != 0; }

bool IsBertPunctuation(UChar32 c, Implementation implementation) {
  if (c < 0x80) {
    return absl::ascii_ispunct(static_cast<unsigned char>(c));
  }
  return (U_MASK(CategoryOf(c, implementation)) & U_GC_P_MASK) != 0;
}

const UNormalizer2& Decomposer() {
  static const UNormalizer2* const normalizer = [] {
    UErrorCode error = U_ZERO_ERROR;
    const UNormalizer2* made = unorm2_getNFDInstance(&error);
    CONCUR_CHECK(U_SUCCESS(error));
    return made;
  }();
  return *normalizer;
}

}  // namespace

absl::StatusOr<WordPiece> WordPiece::Parse(absl::string_view vocabulary, absl::string_view place,
                                           const WordPieceOptions& options) {
  WordPiece made;
  made.options_ = options;
  const auto invalid = [&](absl::string_view message) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ":", made.entries_.size() + 1, ": ", message));
  };
  while (!vocabulary.empty()) {
    const size_t end = std::min(vocabulary.find('\n'), vocabulary.size());
    const absl::string_view entry = absl::StripSuffix(vocabulary.substr(0, end), "\r");
    vocabulary.remove_prefix(std::min(end + 1, vocabulary.size()));
    if (entry.size() > kPieceBytesMax) {
      return invalid(
          absl::StrCat("an entry of ", entry.size(), " bytes, more than ", kPieceBytesMax));
    }
    if (made.entries_.size() == kPieceEntriesMax) {
      return invalid(absl::StrCat("more than ", kPieceEntriesMax, " entries"));
    }
    if (!IsUtf8(entry)) {
      return invalid("not UTF-8");
    }
    const auto id = static_cast<int32_t>(made.entries_.size());
    made.entries_.emplace_back(entry);
    made.starts_.insert_or_assign(made.entries_.back(), id);
    if (absl::StartsWith(entry, "##")) {
      made.rests_.insert_or_assign(made.entries_.back().substr(2), id);
    }
    made.entry_bytes_max_ = std::max(made.entry_bytes_max_, entry.size());
  }
  made.unknown_ = made.Id("[UNK]");
  if (made.unknown_ < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": no entry [UNK]: not BERT's vocab.txt"));
  }
  return made;
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
  std::vector<Character> word;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    const uint32_t begin = offset + static_cast<uint32_t>(at);
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    const uint32_t end = offset + static_cast<uint32_t>(at);
    if (IsDropped(c, options_.implementation)) {
      continue;
    }
    const bool alone = IsChinese(c);
    if (alone || IsBertSpace(c)) {
      EndWord(word, pieces);
    }
    if (!IsBertSpace(c)) {
      AddCharacter(c, begin, end, word);
    }
    if (alone) {
      EndWord(word, pieces);
    }
  }
  EndWord(word, pieces);
}

// Adds the character to the word; where case does not count, in lower case and without accents.
void WordPiece::AddCharacter(int32_t code_point, uint32_t begin, uint32_t end,
                             std::vector<Character>& word) const {
  const UChar32 lower = options_.lower_case ? u_tolower(code_point) : code_point;
  if (!options_.lower_case || lower < 0x80) {
    word.push_back({lower, begin, end});
    return;
  }
  constexpr int32_t kUnitsMax = 32;
  UChar units[kUnitsMax];
  UErrorCode error = U_ZERO_ERROR;
  int32_t count = unorm2_getDecomposition(&Decomposer(), lower, units, kUnitsMax, &error);
  if (count < 0) {  // it is its own decomposition
    count = 0;
    U16_APPEND_UNSAFE(units, count, lower);
  }
  for (int32_t i = 0; i < count;) {
    UChar32 c = 0;
    U16_NEXT(units, i, count, c);
    if (CategoryOf(c, options_.implementation) == U_NON_SPACING_MARK) {
      continue;
    }
    word.push_back({c, begin, end});
  }
}

// Puts marks that follow each other into canonical order. A character that others pass begins where
// the first of these does, so that pieces begin in the order of the text.
void WordPiece::SortMarks(std::vector<Character>& word) {
  const auto is_mark = [](const Character& c) { return u_getCombiningClass(c.code_point) > 0; };
  for (auto first = std::find_if(word.begin(), word.end(), is_mark); first != word.end();) {
    const auto last = std::find_if_not(first, word.end(), is_mark);
    std::stable_sort(first, last, [](const Character& a, const Character& b) {
      return u_getCombiningClass(a.code_point) < u_getCombiningClass(b.code_point);
    });
    for (auto place = last - 1; place != first; --place) {
      (place - 1)->begin = std::min((place - 1)->begin, place->begin);
    }
    first = std::find_if(last, word.end(), is_mark);
  }
}

// Appends the pieces of the word, cut at punctuation, and clears it.
void WordPiece::EndWord(std::vector<Character>& word, std::vector<Piece>& pieces) const {
  if (options_.lower_case) {
    SortMarks(word);
  }
  const auto is_punctuation = [&](size_t i) {
    return IsBertPunctuation(word[i].code_point, options_.implementation);
  };
  // Python's tokenizer also keeps a special token that only the dropped characters hid; without
  // case it is in lower case by then.
  constexpr size_t kSpecialSizeMax = 6;
  if (!options_.lower_case && options_.implementation == Implementation::kPython &&
      word.size() <= kSpecialSizeMax) {
    std::string text;
    for (const Character& character : word) {
      text += character.code_point < 0x80 ? static_cast<char>(character.code_point) : ' ';
    }
    const bool special = std::find(std::begin(kBertSpecials), std::end(kBertSpecials), text) !=
                         std::end(kBertSpecials);
    const int32_t id = special ? Id(text) : -1;
    if (id >= 0) {
      pieces.push_back({id, word.front().begin, word.back().end});
      word.clear();
    }
  }
  for (size_t first = 0; first < word.size();) {
    size_t last = first + 1;
    while (last < word.size() && !is_punctuation(first) && !is_punctuation(last)) {
      ++last;
    }
    AddPieces(absl::MakeConstSpan(word).subspan(first, last - first), pieces);
    first = last;
  }
  word.clear();
}

// The longest entry that is there, then the longest of the rest, and so on; one unknown piece when
// that leads nowhere.
void WordPiece::AddPieces(absl::Span<const Character> characters,
                          std::vector<Piece>& pieces) const {
  std::string bytes;
  std::vector<size_t> ends = {0};  // of each character in `bytes`
  for (const Character& character : characters) {
    AppendCodePoint(character.code_point, bytes);
    ends.push_back(bytes.size());
  }
  const size_t before = pieces.size();
  const size_t count = characters.size();
  size_t from = 0;
  while (from < count && count <= kWordCharactersMax) {
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
