// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, convert_slow_tokenizer.py (AlbertConverter); tokenizers (Rust),
// normalizers/precompiled.rs, pre_tokenizers/metaspace.rs, models/unigram/model.rs.
#include "studies/readers/text/fast_albert.h"

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/utf8.h"
#include "qa/normalize.h"

namespace concur::readers {
namespace {

constexpr absl::string_view kFastSpecials[] = {"[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"};
constexpr absl::string_view kFastMask = "[MASK]";
constexpr int32_t kSpaceSymbolCharacter = 0x2581;
constexpr size_t kFastEntryBytesMax = 1 << 10;
constexpr size_t kFastTableBytesMax = 256 << 20;
constexpr size_t kFastTableEntryBytes = 64;  // beside the text
constexpr double kFastUnknownPenalty = 10;
constexpr double kNumberCommaPenalty = 100;

// True if the original's tables may decompose the character: those of its normalization are younger
// than those that studies/readers/text/piece.h has for Rust.
bool IsDecomposed(int32_t code_point) {
  constexpr uint8_t kVersionMax = 12;
  UVersionInfo age;
  u_charAge(code_point, age);
  return age[0] <= kVersionMax;
}

// True for marks of any kind, which are left out.
bool IsFastMark(int32_t code_point) { return (U_GET_GC_MASK(code_point) & U_GC_M_MASK) != 0; }

// The ends of what users see as one character, in UTF-16 units.
std::vector<int32_t> ClusterEnds(const std::u16string& units) {
  UErrorCode error = U_ZERO_ERROR;
  static const UBreakIterator* const prototype = [] {
    UErrorCode status = U_ZERO_ERROR;
    const UBreakIterator* made = ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &status);
    CONCUR_CHECK(U_SUCCESS(status));
    return made;
  }();
  const std::unique_ptr<UBreakIterator, decltype(&ubrk_close)> breaks(ubrk_clone(prototype, &error),
                                                                      &ubrk_close);
  CONCUR_CHECK(U_SUCCESS(error));
  ubrk_setText(breaks.get(), units.data(), static_cast<int32_t>(units.size()), &error);
  CONCUR_CHECK(U_SUCCESS(error));
  std::vector<int32_t> ends;
  for (int32_t end = ubrk_next(breaks.get()); end != UBRK_DONE; end = ubrk_next(breaks.get())) {
    ends.push_back(end);
  }
  return ends;
}

}  // namespace

absl::StatusOr<FastAlbert> FastAlbert::FromModel(const SentencePiece& model,
                                                 absl::string_view place,
                                                 const FastAlbertOptions& options) {
  std::vector<Item> entries;
  for (int32_t id = 0; id < model.size(); ++id) {
    const absl::string_view text = model.Entry(id);
    const bool number_comma =
        text.size() >= 2 && text.back() == ',' &&
        absl::ascii_isdigit(static_cast<unsigned char>(text[text.size() - 2]));
    const auto score = static_cast<double>(model.Score(id));
    entries.push_back({std::string(text), number_comma ? score - kNumberCommaPenalty : score});
  }
  return FromEntries(std::move(entries), model.unknown(), model.rules(), place, options);
}

absl::StatusOr<FastAlbert> FastAlbert::FromEntries(std::vector<Item> entries, int64_t unknown,
                                                   ReplacementRules rules, absl::string_view place,
                                                   const FastAlbertOptions& options) {
  FastAlbert made;
  made.options_ = options;
  made.rules_ = std::move(rules);
  made.entries_ = std::move(entries);
  if (unknown < 0 || unknown >= static_cast<int64_t>(made.entries_.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": the unknown id ", unknown, " is none of ", made.entries_.size()));
  }
  made.unknown_ = static_cast<int32_t>(unknown);
  size_t table_bytes = 0;
  made.score_min_ = made.entries_[0].score;
  for (size_t i = 0; i < made.entries_.size(); ++i) {
    const auto& [text, score] = made.entries_[i];
    if (text.empty() || text.size() > kFastEntryBytesMax || !IsUtf8(text) ||
        !std::isfinite(score)) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": piece ", i,
                                                     ": expected text of 1 to ", kFastEntryBytesMax,
                                                     " bytes and a finite score"));
    }
    made.score_min_ = std::min(made.score_min_, score);
    for (size_t at = 0; at < text.size();) {
      at += Utf8CharacterBytes(absl::string_view(text).substr(at));
      if (made.pieces_.try_emplace(text.substr(0, at), -1).second) {
        table_bytes += at + kFastTableEntryBytes;
      }
    }
    made.pieces_[text] = static_cast<int32_t>(i);
    if (table_bytes > kFastTableBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": its pieces are too many and too long: a table of more than ",
                       kFastTableBytesMax, " bytes"));
    }
  }
  return made;
}

int32_t FastAlbert::Id(absl::string_view text) const {
  const auto found = pieces_.find(text);
  return found == pieces_.end() ? -1 : found->second;
}

std::vector<Piece> FastAlbert::Tokenize(absl::string_view text,
                                        std::vector<std::string>* shown) const {
  std::vector<Piece> pieces;
  std::vector<std::string> texts;
  uint32_t done = 0;
  for (Piece special :
       FindSpecials(text, kFastSpecials, [this](absl::string_view entry) { return Id(entry); })) {
    if (Entry(special.id) == kFastMask) {  // it takes the white space before it
      while (special.begin > done) {
        auto before = static_cast<int32_t>(special.begin);
        UChar32 c = 0;
        U8_PREV(text.data(), static_cast<int32_t>(done), before, c);
        if (c < 0 || u_isUWhiteSpace(c) == 0) {
          break;
        }
        special.begin = static_cast<uint32_t>(before);
      }
    }
    AddSegment(text.substr(done, special.begin - done), done, pieces, texts);
    pieces.push_back(special);
    texts.emplace_back(text.substr(special.begin, special.end - special.begin));
    done = special.end;
  }
  AddSegment(text.substr(done), done, pieces, texts);
  if (shown != nullptr) {
    shown->insert(shown->end(), texts.begin(), texts.end());
  }
  return pieces;
}

// The text after quotes, accents and case; each character with its place.
FastAlbert::Characters FastAlbert::Changed(absl::string_view text, uint32_t offset) const {
  Characters characters;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    const uint32_t begin = offset + static_cast<uint32_t>(at);
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    const uint32_t end = offset + static_cast<uint32_t>(at);
    if (options_.replace_quotes && (c == '`' || c == '\'') && !characters.empty() &&
        characters.back().code_point == c && characters.back().end == begin) {
      characters.back() = {'"', begin, end};
      continue;
    }
    characters.push_back({c, begin, end});
  }
  if (!options_.keep_accents) {
    Characters plain;
    for (const Character& character : characters) {
      const auto take = [&](int32_t part) {
        if (!IsFastMark(part)) {
          plain.push_back({part, character.begin, character.end});
        }
      };
      if (IsDecomposed(character.code_point)) {
        ForEachDecomposed(character.code_point, Decomposition::kCompatible, take);
      } else {
        take(character.code_point);
      }
    }
    characters = std::move(plain);
  }
  if (options_.lower_case) {
    constexpr UChar32 kDottedI = 0x130;
    constexpr UChar32 kDotAbove = 0x307;
    Characters lower;
    for (const Character& character : characters) {
      lower.push_back({u_tolower(character.code_point), character.begin, character.end});
      if (character.code_point == kDottedI) {
        lower.push_back({kDotAbove, character.begin, character.end});
      }
    }
    characters = std::move(lower);
  }
  return characters;
}

// By the model's rules. Of a cluster of less than 6 bytes the first rule for its beginning replaces
// all, as in the original.
FastAlbert::Characters FastAlbert::ByRules(const Characters& characters) const {
  constexpr size_t kClusterBytesMax = 6;
  std::u16string units;
  std::vector<int32_t> unit_ends;  // end of each character, in `units`
  for (const Character& character : characters) {
    char16_t encoded[U16_MAX_LENGTH];
    int32_t count = 0;
    U16_APPEND_UNSAFE(encoded, count, character.code_point);
    units.append(encoded, static_cast<size_t>(count));
    unit_ends.push_back(static_cast<int32_t>(units.size()));
  }
  // Each new character, and how many more (1) or less (-n) there are with it than before. What is
  // removed at the beginning has no character to be noted at, so that all that follows shifts.
  std::vector<std::pair<int32_t, int64_t>> changes;
  const auto replace = [&](size_t first, size_t last) {
    std::string part;
    for (size_t i = first; i < last; ++i) {
      AppendCodePoint(characters[i].code_point, part);
    }
    const std::optional<ReplacementRules::Match> match =
        last - first > 1 && part.size() >= kClusterBytesMax ? std::nullopt : rules_.Shortest(part);
    if (!match.has_value()) {
      return false;
    }
    int64_t more = -static_cast<int64_t>(last - first);
    for (absl::string_view rest = match->replacement; !rest.empty();) {
      size_t at = 0;
      UChar32 c = 0;
      U8_NEXT_OR_FFFD(rest.data(), at, rest.size(), c);
      rest.remove_prefix(at);
      ++more;
      changes.emplace_back(c, more > 0 ? 1 : 0);
    }
    if (more < 0 && !changes.empty()) {
      changes.back().second += more;
    }
    return true;
  };
  size_t first = 0;
  for (const int32_t end : ClusterEnds(units)) {
    const auto last = static_cast<size_t>(
        std::upper_bound(unit_ends.begin(), unit_ends.end(), end) - unit_ends.begin());
    if (last - first > 1 && replace(first, last)) {
      first = last;
    }
    for (; first < last; ++first) {
      if (!replace(first, first + 1)) {
        changes.emplace_back(characters[first].code_point, 0);
      }
    }
  }
  Characters changed;
  size_t place = 0;
  for (const auto& [code_point, change] : changes) {
    const size_t from = change > 0 ? std::max<size_t>(place, 1) - 1 : place;
    const Character& old = characters[std::min(from, characters.size() - 1)];
    changed.push_back({code_point, old.begin, old.end});
    place += change > 0 ? 0 : static_cast<size_t>(1 - change);
  }
  return changed;
}

// Appends the pieces of what stands between two special tokens, from `offset` on.
void FastAlbert::AddSegment(absl::string_view text, uint32_t offset, std::vector<Piece>& pieces,
                            std::vector<std::string>& shown) const {
  Characters joined;
  for (const Character& character : ByRules(Changed(text, offset))) {
    if (options_.join_spaces && character.code_point == ' ' && !joined.empty() &&
        joined.back().code_point == ' ') {
      joined.back() = character;
    } else {
      joined.push_back(character);
    }
  }
  // Spaces become "▁", which begins a word; so does the beginning.
  Characters words;
  bool begins = true;
  for (const Character& character : joined) {
    if (options_.split_at_space && qa::IsSpaceCodePoint(character.code_point)) {
      begins = true;
      continue;
    }
    const bool is_space = character.code_point == ' ';
    if (begins && !is_space && character.code_point != kSpaceSymbolCharacter) {
      words.push_back({kSpaceSymbolCharacter, character.begin, character.end});
    }
    begins = false;
    words.push_back(
        {is_space ? kSpaceSymbolCharacter : character.code_point, character.begin, character.end});
  }
  for (size_t first = 0; first < words.size();) {
    size_t last = first + 1;
    while (last < words.size() && words[last].code_point != kSpaceSymbolCharacter) {
      ++last;
    }
    AddWord(words.data() + first, words.data() + last, pieces, shown);
    first = last;
  }
}

// Appends the most probable pieces of the word; neighbours that are unknown are one.
void FastAlbert::AddWord(const Character* first, const Character* last, std::vector<Piece>& pieces,
                         std::vector<std::string>& shown) const {
  std::string all;
  std::vector<size_t> ends = {0};  // end of each character, in `all`
  for (const Character* character = first; character != last; ++character) {
    AppendCodePoint(character->code_point, all);
    ends.push_back(all.size());
  }
  struct Node {  // the best way to an end
    int32_t id = -1;
    double score = 0;
    size_t begin = 0;
    bool reached = false;
  };
  const size_t count = ends.size() - 1;
  std::vector<Node> nodes(count + 1);
  for (size_t begin = 0; begin < count; ++begin) {
    const double before = nodes[begin].score;
    const auto offer = [&](size_t end, int32_t id, double score) {
      if (!nodes[end].reached || score > nodes[end].score) {
        nodes[end] = {id, score, begin, true};
      }
    };
    bool alone = false;
    for (size_t end = begin + 1; end <= count; ++end) {
      const auto found =
          pieces_.find(absl::string_view(all).substr(ends[begin], ends[end] - ends[begin]));
      if (found == pieces_.end()) {
        break;
      }
      if (found->second >= 0) {
        offer(end, found->second, entries_[static_cast<size_t>(found->second)].score + before);
        alone = alone || end == begin + 1;
      }
    }
    if (!alone) {
      offer(begin + 1, unknown_, score_min_ - kFastUnknownPenalty + before);
    }
  }
  const size_t old_size = pieces.size();
  const size_t old_shown = shown.size();
  for (size_t end = count; end > 0;) {
    const int32_t id = nodes[end].id;
    size_t begin = nodes[end].begin;
    while (id == unknown_ && begin > 0 && nodes[begin].id == unknown_) {
      begin = nodes[begin].begin;
    }
    pieces.push_back({id, first[begin].begin, first[end - 1].end});
    shown.push_back(all.substr(ends[begin], ends[end] - ends[begin]));
    end = begin;
  }
  std::reverse(pieces.begin() + static_cast<int64_t>(old_size), pieces.end());
  std::reverse(shown.begin() + static_cast<int64_t>(old_shown), shown.end());
}

}  // namespace concur::readers
