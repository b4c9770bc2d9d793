// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, models/gpt2/tokenization_gpt2.py and models/roberta; tokenizers (Rust),
// pre_tokenizers/byte_level.rs.
#include "studies/readers/text/byte_pair.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <queue>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "qa/json_text.h"
#include "qa/normalize.h"

namespace concur::readers {
namespace {

using VocabularyJson = nlohmann::json;

constexpr int64_t kBytePairFileBytesMax = 16 << 20;
constexpr int64_t kBytePairIdsMax = 1 << 24;

constexpr absl::string_view kMask = "<mask>";
constexpr absl::string_view kRobertaSpecials[] = {"<s>", "</s>", "<unk>", "<pad>", kMask};
constexpr absl::string_view kContractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

// The character, as UTF-8, that stands for a byte in vocabularies: itself where it prints, else one
// from U+0100 on.
std::string ShownByte(int byte) {
  const auto prints = [](int value) {
    return (value >= '!' && value <= '~') || (value >= 0xA1 && value <= 0xAC) ||
           (value >= 0xAE && value <= 0xFF);
  };
  UChar32 c = byte;
  if (!prints(byte)) {
    c = 0x100;
    for (int before = 0; before < byte; ++before) {
      c += prints(before) ? 0 : 1;
    }
  }
  std::string shown;
  AppendCodePoint(c, shown);
  return shown;
}

enum class CharacterClass { kLetter, kNumber, kSpace, kOther };

// The class of the character at `at`, which is moved behind it.
CharacterClass NextClass(absl::string_view text, size_t& at) {
  const auto size = static_cast<int32_t>(text.size());
  auto next = static_cast<int32_t>(at);
  UChar32 c = 0;
  U8_NEXT(text.data(), next, size, c);
  at = static_cast<size_t>(next);
  if (c < 0) {
    return CharacterClass::kOther;
  }
  const uint32_t mask = U_GET_GC_MASK(c);
  return (mask & U_GC_L_MASK) != 0   ? CharacterClass::kLetter
         : (mask & U_GC_N_MASK) != 0 ? CharacterClass::kNumber
         : u_isUWhiteSpace(c) != 0   ? CharacterClass::kSpace
                                     : CharacterClass::kOther;
}

// The end of the word that begins at `begin`: what GPT-2's expression matches there,
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t WordEnd(absl::string_view text, size_t begin) {
  for (const absl::string_view contraction : kContractions) {
    if (absl::StartsWith(text.substr(begin), contraction)) {
      return begin + contraction.size();
    }
  }
  size_t end = begin;
  CharacterClass kind = NextClass(text, end);
  if (text[begin] == ' ' && end < text.size()) {
    size_t after = end;
    const CharacterClass next = NextClass(text, after);
    if (next != CharacterClass::kSpace) {
      kind = next;
      end = after;
    }
  }
  size_t last = begin;  // where the run's last character begins
  while (end < text.size()) {
    size_t after = end;
    if (NextClass(text, after) != kind) {
      break;
    }
    last = end;
    end = after;
  }
  // The last space before a word goes with the word.
  return kind == CharacterClass::kSpace && end < text.size() && last > begin ? last : end;
}

// Moves `end` before what str.isspace() takes.
void StripSpaceBefore(absl::string_view text, size_t begin, size_t& end) {
  while (end > begin) {
    auto at = static_cast<int32_t>(end);
    UChar32 c = 0;
    U8_PREV(text.data(), static_cast<int32_t>(begin), at, c);
    if (c < 0 || !qa::IsSpaceCodePoint(c)) {
      return;
    }
    end = static_cast<size_t>(at);
  }
}

// The piece of bytes [begin, end): without the spaces at both ends, and with all of the characters
// at whose bytes it begins and ends.
Piece PieceOf(absl::string_view text, int32_t id, uint32_t begin, uint32_t end) {
  while (begin < end && text[begin] == ' ') {
    ++begin;
  }
  while (end > begin && text[end - 1] == ' ') {
    --end;
  }
  if (begin < end) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
    auto first = static_cast<int32_t>(begin);
    auto last = static_cast<int32_t>(end);
    U8_SET_CP_START(bytes, 0, first);
    U8_SET_CP_LIMIT(bytes, 0, last, static_cast<int32_t>(text.size()));
    begin = static_cast<uint32_t>(first);
    end = static_cast<uint32_t>(last);
  }
  return {id, begin, end};
}

}  // namespace

absl::Status BytePair::ParseVocabulary(absl::string_view json, absl::string_view place) {
  const auto invalid = [place](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", message));
  };
  if (json.size() > static_cast<size_t>(kBytePairFileBytesMax)) {
    return invalid(absl::StrCat("more than ", kBytePairFileBytesMax, " bytes"));
  }
  const VocabularyJson object = VocabularyJson::parse(json.begin(), json.end(), nullptr, false);
  if (!object.is_object()) {
    return invalid("expected a JSON object of entries and ids");
  }
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  for (const auto& [entry, id] : object.items()) {
    if (!id.is_number_integer() || id.get<double>() < 0 || id.get<double>() >= kBytePairIdsMax) {
      return invalid(
          absl::StrCat(qa::Shown(entry), ": expected an id from 0 to below ", kBytePairIdsMax));
    }
    vocabulary.emplace_back(entry, id.get<int32_t>());
  }
  return SetVocabulary(vocabulary, place);
}

// REQUIRES: ids are from 0 to below kBytePairIdsMax.
absl::Status BytePair::SetVocabulary(const std::vector<std::pair<std::string, int32_t>>& vocabulary,
                                     absl::string_view place) {
  const auto invalid = [place](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", message));
  };
  std::vector<int32_t> seen;
  for (const auto& [entry, id] : vocabulary) {
    seen.push_back(id);
    ids_[entry] = id;
    size_ = std::max(size_, id + 1);
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice != seen.end()) {
    return invalid(absl::StrCat("two entries have the id ", *twice));
  }
  entries_.resize(static_cast<size_t>(size_));
  for (const auto& [entry, id] : vocabulary) {
    entries_[static_cast<size_t>(id)] = entry;
  }
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = ids_.find(ShownByte(byte));
    if (found == ids_.end()) {
      return invalid(absl::StrCat("no entry for byte ", byte, ", ", ShownByte(byte)));
    }
    byte_ids_[static_cast<size_t>(byte)] = found->second;
  }
  return absl::OkStatus();
}

absl::Status BytePair::ParseMerges(absl::string_view text, absl::string_view place) {
  int32_t line = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const absl::string_view pair = absl::StripSuffix(text.substr(0, end), "\r");
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if ((line == 1 && absl::StartsWith(pair, "#version")) || (pair.empty() && text.empty())) {
      continue;
    }
    const size_t space = std::min(pair.find(' '), pair.size());
    const absl::string_view left = pair.substr(0, space);
    const absl::string_view right = pair.substr(std::min(space + 1, pair.size()));
    CONCUR_RETURN_IF_ERROR(AddMerge(left, right, line, absl::StrCat(place, ":", line)));
  }
  return absl::OkStatus();
}

absl::Status BytePair::AddMerge(absl::string_view left, absl::string_view right, int32_t rank,
                                absl::string_view place) {
  const auto left_id = ids_.find(left);
  const auto right_id = ids_.find(right);
  const auto result = ids_.find(absl::StrCat(left, right));
  if (left.empty() || right.empty() || left_id == ids_.end() || right_id == ids_.end() ||
      result == ids_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(place,
                     ": expected two entries of the vocabulary that give a third, "
                     "with a space between them, got ",
                     qa::Shown(absl::StrCat(left, right.empty() ? "" : " ", right))));
  }
  merges_[{left_id->second, right_id->second}] = {rank, result->second};
  return absl::OkStatus();
}

absl::StatusOr<BytePair> BytePair::FromEntries(
    const std::vector<std::pair<std::string, int32_t>>& vocabulary,
    const std::vector<std::pair<std::string, std::string>>& merges, absl::string_view place,
    const BytePairOptions& options) {
  BytePair made;
  made.options_ = options;
  for (const auto& [entry, id] : vocabulary) {
    if (id < 0 || id >= kBytePairIdsMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, ": ", qa::Shown(entry), ": expected an id from 0 to below ", kBytePairIdsMax));
    }
  }
  CONCUR_RETURN_IF_ERROR(made.SetVocabulary(vocabulary, place));
  int32_t rank = 0;
  for (const auto& [left, right] : merges) {
    CONCUR_RETURN_IF_ERROR(made.AddMerge(left, right, rank, absl::StrCat(place, ": merge ", rank)));
    ++rank;
  }
  return made;
}

int32_t BytePair::Id(absl::string_view entry) const {
  const auto found = ids_.find(entry);
  return found == ids_.end() ? -1 : found->second;
}

std::string BytePair::BytesOf(absl::Span<const int32_t> ids) const {
  static const auto& bytes = *[] {
    auto* made = new absl::flat_hash_map<std::string, char>;
    for (int byte = 0; byte < 256; ++byte) {
      (*made)[ShownByte(byte)] = static_cast<char>(byte);
    }
    return made;
  }();
  std::string text;
  for (const int32_t id : ids) {
    for (absl::string_view rest = Entry(id); !rest.empty();) {
      const size_t size = std::max<size_t>(1, Utf8CharacterBytes(rest));
      const auto found = bytes.find(rest.substr(0, size));
      if (found != bytes.end()) {
        text.push_back(found->second);
      } else {
        absl::StrAppend(&text, rest.substr(0, size));
      }
      rest.remove_prefix(size);
    }
  }
  return text;
}

absl::StatusOr<BytePair> BytePair::Parse(absl::string_view vocabulary,
                                         absl::string_view vocabulary_place,
                                         absl::string_view merges, absl::string_view merges_place,
                                         const BytePairOptions& options) {
  BytePair made;
  made.options_ = options;
  CONCUR_RETURN_IF_ERROR(made.ParseVocabulary(vocabulary, vocabulary_place));
  CONCUR_RETURN_IF_ERROR(made.ParseMerges(merges, merges_place));
  return made;
}

absl::StatusOr<BytePair> BytePair::Read(const std::string& vocabulary, const std::string& merges,
                                        const BytePairOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const std::string json, ReadFile(vocabulary, kBytePairFileBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const std::string pairs, ReadFile(merges, kBytePairFileBytesMax));
  return Parse(json, vocabulary, pairs, merges, options);
}

std::vector<Piece> BytePair::Tokenize(absl::string_view text, bool prefix_space) const {
  size_t at = 0;
  UChar32 first = 0;
  if (prefix_space && !text.empty()) {
    U8_NEXT(text.data(), at, text.size(), first);
  }
  if (!prefix_space || text.empty() || qa::IsSpaceCodePoint(first)) {
    return TokenizeAsItStands(text);
  }
  std::vector<Piece> pieces = TokenizeAsItStands(absl::StrCat(" ", text));
  for (Piece& piece : pieces) {
    piece.begin -= std::min(piece.begin, 1u);
    piece.end -= 1;
  }
  return pieces;
}

std::vector<Piece> BytePair::TokenizeAsItStands(absl::string_view text) const {
  std::vector<Piece> pieces;
  size_t stripped = text.size();
  StripSpaceBefore(text, 0, stripped);
  if (stripped == 0 && options_.implementation == Implementation::kPython) {
    return pieces;
  }
  const auto id_of = [this](absl::string_view entry) { return Id(entry); };
  size_t done = 0;
  for (const Piece& special : FindSpecials(text, kRobertaSpecials, id_of)) {
    size_t end = special.begin;
    if (special.id == id_of(kMask)) {
      StripSpaceBefore(text, done, end);
    }
    AddSegment(text, done, end, pieces);
    pieces.push_back(special);
    done = special.end;
  }
  AddSegment(text, done, text.size(), pieces);
  return pieces;
}

// Appends the pieces of what stands between two special tokens.
void BytePair::AddSegment(absl::string_view text, size_t begin, size_t end,
                          std::vector<Piece>& pieces) const {
  while (begin < end) {
    const size_t word_end = WordEnd(text.substr(0, end), begin);
    AddWord(text, begin, word_end, pieces);
    begin = word_end;
  }
}

const BytePair::Merge* BytePair::Find(const std::vector<Symbol>& symbols, int32_t left,
                                      int32_t right) const {
  if (left < 0 || right < 0) {
    return nullptr;
  }
  const auto found = merges_.find(std::make_pair(symbols[static_cast<size_t>(left)].id,
                                                 symbols[static_cast<size_t>(right)].id));
  return found == merges_.end() ? nullptr : &found->second;
}

void BytePair::AddWord(absl::string_view text, size_t begin, size_t end,
                       std::vector<Piece>& pieces) const {
  std::vector<Symbol> symbols;
  for (size_t i = begin; i < end; ++i) {
    const auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({byte_ids_[static_cast<unsigned char>(text[i])], static_cast<uint32_t>(i),
                       static_cast<uint32_t>(i + 1), index - 1, i + 1 < end ? index + 1 : -1});
  }
  // Pairs that may merge, by rank, the first of equals first. One whose symbols have merged with
  // others since is passed over.
  using Candidate = std::pair<int32_t, int32_t>;  // rank, left symbol
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](int32_t left) {
    const int32_t right = left < 0 ? -1 : symbols[static_cast<size_t>(left)].next;
    if (const Merge* merge = Find(symbols, left, right)) {
      candidates.push({merge->rank, left});
    }
  };
  for (size_t i = 0; i < symbols.size(); ++i) {
    consider(static_cast<int32_t>(i));
  }
  while (!candidates.empty()) {
    const auto [rank, left] = candidates.top();
    candidates.pop();
    Symbol& symbol = symbols[static_cast<size_t>(left)];
    const Merge* merge = Find(symbols, left, symbol.next);
    if (symbol.id < 0 || merge == nullptr || merge->rank != rank) {
      continue;
    }
    Symbol& gone = symbols[static_cast<size_t>(symbol.next)];
    symbol.id = merge->result;
    symbol.end = gone.end;
    symbol.next = gone.next;
    gone.id = -1;
    if (symbol.next >= 0) {
      symbols[static_cast<size_t>(symbol.next)].previous = left;
    }
    consider(symbol.previous);
    consider(left);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.id >= 0) {
      pieces.push_back(PieceOf(text, symbol.id, symbol.begin, symbol.end));
    }
  }
}

}  // namespace concur::readers
