// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, models/albert/tokenization_albert.py.
#include "studies/readers/text/albert_tokenizer.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "qa/normalize.h"

namespace concur::readers {
namespace {

constexpr absl::string_view kAlbertSpecials[] = {"[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"};

struct AlbertCharacter {
  UChar32 code_point;
  uint32_t begin, end;  // in the text
};

std::string Utf8Of(const std::vector<AlbertCharacter>& characters) {
  std::string text;
  for (const AlbertCharacter& character : characters) {
    AppendCodePoint(character.code_point, text);
  }
  return text;
}

// Appends the compatibility decomposition of the character, without combining marks.
void AppendPlain(const AlbertCharacter& character, std::vector<AlbertCharacter>& out) {
  if (!Knows(Implementation::kPython, character.code_point)) {
    out.push_back(character);
    return;
  }
  ForEachDecomposed(character.code_point, Decomposition::kCompatible, [&](int32_t part) {
    if (u_getCombiningClass(part) == 0) {
      out.push_back({part, character.begin, character.end});
    }
  });
}

// Lower case of the whole text, which Python gives Greek's final sigma; a character stays one.
void LowerAll(std::vector<AlbertCharacter>& characters) {
  const std::string lower = qa::LowerCase(Utf8Of(characters));
  std::vector<UChar32> code_points;
  for (size_t at = 0; at < lower.size();) {
    UChar32 c = 0;
    U8_NEXT_UNSAFE(lower.data(), at, c);
    code_points.push_back(c);
  }
  if (code_points.size() == characters.size()) {
    for (size_t i = 0; i < characters.size(); ++i) {
      characters[i].code_point = code_points[i];
    }
  }
}

}  // namespace

std::vector<Piece> AlbertTokenizer::Tokenize(absl::string_view text,
                                             std::vector<std::string>* shown) const {
  std::vector<Piece> pieces;
  std::vector<std::string> texts;
  uint32_t done = 0;
  for (const Piece& special : FindSpecials(
           text, kAlbertSpecials, [this](absl::string_view entry) { return model_.Id(entry); })) {
    AddSegment(text.substr(done, special.begin - done), done, pieces, texts);
    pieces.push_back(special);
    texts.push_back(model_.Entry(special.id));
    done = special.end;
  }
  AddSegment(text.substr(done), done, pieces, texts);
  if (shown != nullptr) {
    shown->insert(shown->end(), texts.begin(), texts.end());
  }
  return pieces;
}

// Appends the pieces of what stands between two special tokens, from `offset` on.
void AlbertTokenizer::AddSegment(absl::string_view text, uint32_t offset,
                                 std::vector<Piece>& pieces,
                                 std::vector<std::string>& shown) const {
  std::vector<AlbertCharacter> characters;
  const auto size = static_cast<int32_t>(text.size());
  bool space = false;
  for (int32_t at = 0; at < size;) {
    const uint32_t begin = offset + static_cast<uint32_t>(at);
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    if (qa::IsSpaceCodePoint(c)) {
      space = true;
      continue;
    }
    if (space && !characters.empty()) {
      characters.push_back({' ', begin, begin});
    }
    space = false;
    const uint32_t end = offset + static_cast<uint32_t>(at);
    const bool pair = (c == '`' || c == '\'') && !characters.empty() &&
                      characters.back().code_point == c && characters.back().end == begin;
    if (pair) {
      characters.back().code_point = '"';
      characters.back().end = end;
      continue;
    }
    constexpr UChar32 kDottedI = 0x130;
    constexpr UChar32 kDotAbove = 0x307;
    characters.push_back({options_.lower_case ? u_tolower(c) : c, begin, end});
    if (options_.lower_case && c == kDottedI) {
      characters.push_back({kDotAbove, begin, end});
    }
  }
  if (!options_.keep_accents) {
    std::vector<AlbertCharacter> plain;
    for (const AlbertCharacter& character : characters) {
      AppendPlain(character, plain);
    }
    characters = std::move(plain);
  }
  if (options_.lower_case) {
    LowerAll(characters);
  }
  // Which character each byte of the prepared text belongs to.
  const std::string prepared = Utf8Of(characters);
  std::vector<size_t> owner;
  for (size_t i = 0; i < characters.size(); ++i) {
    owner.resize(owner.size() + static_cast<size_t>(U8_LENGTH(characters[i].code_point)), i);
  }
  const size_t before = pieces.size();
  std::vector<std::string> texts;
  const std::vector<Piece> whole = model_.Tokenize(prepared, &texts);
  for (size_t i = 0; i < whole.size(); ++i) {
    AddPiece(whole[i], texts[i], pieces, shown);
  }
  for (size_t i = before; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    const bool empty = piece.begin == piece.end;
    const uint32_t text_end = offset + static_cast<uint32_t>(text.size());
    const uint32_t begin =
        piece.begin < owner.size() ? characters[owner[piece.begin]].begin : text_end;
    piece.end = empty ? begin : characters[owner[piece.end - 1]].end;
    piece.begin = begin;
  }
}

// Appends the piece; one that is a number and a comma as the pieces of the number, and the comma.
void AlbertTokenizer::AddPiece(const Piece& piece, const std::string& text,
                               std::vector<Piece>& pieces, std::vector<std::string>& shown) const {
  const absl::string_view entry = model_.Entry(piece.id);
  const size_t size = entry.size();
  if (size < 2 || entry.back() != ',' ||
      !absl::ascii_isdigit(static_cast<unsigned char>(entry[size - 2]))) {
    pieces.push_back(piece);
    shown.push_back(text);
    return;
  }
  absl::string_view number = entry.substr(0, size - 1);
  const bool has_space = absl::ConsumePrefix(&number, kSpaceSymbol);
  // A rule of the model may have made more text than there was: no place goes beyond the piece.
  const auto bytes = static_cast<uint32_t>(number.size() + 1);
  const uint32_t begin = piece.end - std::min(bytes, piece.end - piece.begin);
  uint32_t last = begin;
  bool first = true;
  std::vector<std::string> texts;
  const std::vector<Piece> parts = model_.Tokenize(number, &texts);
  for (size_t i = 0; i < parts.size(); ++i) {
    Piece part = parts[i];
    last = std::min(begin + part.begin, piece.end);
    part = {part.id, last, std::min(begin + part.end, piece.end)};
    if (first && !has_space) {
      absl::string_view rest = texts[i];
      if (absl::ConsumePrefix(&rest, kSpaceSymbol)) {
        part.id = rest.empty() ? -1 : model_.Id(rest);
        part.id = rest.empty() || part.id >= 0 ? part.id : model_.unknown();
        texts[i] = std::string(rest);
      }
    }
    first = false;
    if (part.id >= 0) {
      pieces.push_back(part);
      shown.push_back(texts[i]);
    }
  }
  const int32_t comma = model_.Id(",");
  pieces.push_back({comma >= 0 ? comma : model_.unknown(),
                    std::max(last, piece.end - std::min(piece.end, 1u)), piece.end});
  shown.emplace_back(",");
}

}  // namespace concur::readers
