// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/utf8.h"
#include "qa/normalize.h"

namespace concur::readers {
namespace {

enum class Kind : uint8_t { kSpace, kWord, kPunctuation };

struct Character {
  size_t bytes = 1;
  Kind kind = Kind::kPunctuation;
};

Character CharacterAt(absl::string_view text, size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  if (lead < 0x80) {
    return {1, absl::ascii_isalnum(lead) || lead == '_' ? Kind::kWord
               : lead <= 0x20 || lead == 0x7F           ? Kind::kSpace
                                                        : Kind::kPunctuation};
  }
  size_t end = i;
  const auto code = static_cast<int32_t>(NextCodePoint(text, end));
  // Combining marks belong to the word that they follow, although \w excludes them.
  const bool mark = (code >= 0x300 && code < 0x370) || (code >= 0x900 && code < 0xE00);
  return {end - i, qa::IsSpaceCodePoint(code) || code == 0x200B || code == 0xFEFF ? Kind::kSpace
                   : mark || qa::IsWordCodePoint(code)                            ? Kind::kWord
                                                       : Kind::kPunctuation};
}

bool IsWordAt(absl::string_view text, size_t i) {
  return i < text.size() && CharacterAt(text, i).kind == Kind::kWord;
}

bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Bytes of an apostrophe at `i`, straight or curly; 0 when there is none.
size_t ApostropheAt(absl::string_view text, size_t i) {
  const absl::string_view rest = text.substr(std::min(i, text.size()));
  return absl::StartsWith(rest, "'") ? 1 : absl::StartsWith(rest, "\u2019") ? 3 : 0;
}

// The end of the clitic that starts at the apostrophe `i` ("'s", "'re", "'t"), or `i`.
size_t CliticEnd(absl::string_view text, size_t i) {
  const size_t letters = i + ApostropheAt(text, i);
  for (const absl::string_view clitic : {"s", "m", "d", "t", "re", "ve", "ll"}) {
    if (absl::EqualsIgnoreCase(text.substr(letters, clitic.size()), clitic) &&
        !IsWordAt(text, letters + clitic.size())) {
      return letters + clitic.size();
    }
  }
  return i;
}

bool IsTitle(absl::string_view word) {
  static constexpr std::array<absl::string_view, 14> kTitles = {
      "Mr", "Mrs", "Ms", "Dr", "St", "Jr", "Sr", "vs", "Prof", "Gen", "Col", "Lt", "Rev", "Sgt"};
  return std::find(kTitles.begin(), kTitles.end(), word) != kTitles.end();
}

// The end of the word that starts at `begin`: without the full stop of a sentence and clitics.
size_t WordEnd(absl::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size()) {
    const Character c = CharacterAt(text, end);
    if (c.kind == Kind::kWord) {
      end += c.bytes;
      continue;
    }
    const char mark = text[end];
    const char before = text[end - 1];
    const char after = end + 1 < text.size() ? text[end + 1] : ' ';
    const bool in_number =
        (mark == '.' || mark == ',' || mark == ':') && IsDigit(before) && IsDigit(after);
    const bool initial = IsLetter(before) && (end - 1 == begin || text[end - 2] == '.');
    const bool in_abbreviation = mark == '.' && initial && IsLetter(after);
    if (in_number || in_abbreviation) {
      ++end;
      continue;
    }
    const size_t apostrophe = ApostropheAt(text, end);
    if (apostrophe > 0 && IsWordAt(text, end + apostrophe) && CliticEnd(text, end) == end) {
      end += apostrophe;  // "O'Brien"
      continue;
    }
    const bool ends_abbreviation = mark == '.' && initial && end >= begin + 3;
    return ends_abbreviation || (mark == '.' && IsTitle(text.substr(begin, end - begin))) ? end + 1
                                                                                          : end;
  }
  return end;
}

// "@name" or an HTML-like tag at `i`; `i` when there is neither.
size_t MarkupEnd(absl::string_view text, size_t i) {
  const bool closing = text[i] == '<' && i + 1 < text.size() && text[i + 1] == '/';
  size_t end = i + (closing ? 2 : 1);
  const size_t name = end;
  while (end < text.size() &&
         (absl::ascii_isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
    ++end;
  }
  if (end == name || end - name > 64) {
    return i;
  }
  if (text[i] == '<') {
    return end < text.size() && text[end] == '>' ? end + 1 : i;
  }
  return text[i] == '@' && (i == 0 || !IsWordAt(text, i - 1)) ? end : i;
}

// The end of the punctuation at `i`: runs of points, hyphens and quotes are one token.
size_t PunctuationEnd(absl::string_view text, size_t i) {
  const size_t markup = MarkupEnd(text, i);
  if (markup > i) {
    return markup;
  }
  size_t end = i + CharacterAt(text, i).bytes;
  if (text[i] == '.' || text[i] == '-' || text[i] == '\'' || text[i] == '`') {
    while (end < text.size() && text[end] == text[i]) {
      ++end;
    }
  }
  return end;
}

}  // namespace

std::vector<Token> Tokenize(absl::string_view text) {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 5 + 1);
  const auto add = [&](size_t begin, size_t end) {
    tokens.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  };
  for (size_t i = 0; i < text.size();) {
    const Character c = CharacterAt(text, i);
    if (c.kind == Kind::kSpace) {
      i += c.bytes;
      continue;
    }
    if (c.kind == Kind::kPunctuation) {
      const bool after_word = !tokens.empty() && tokens.back().end == i && i > 0;
      const size_t clitic =
          after_word && ApostropheAt(text, i) > 0 ? std::max(i, CliticEnd(text, i)) : i;
      const size_t end = clitic > i ? clitic : PunctuationEnd(text, i);
      add(i, end);
      i = end;
      continue;
    }
    size_t end = WordEnd(text, i);
    const size_t apostrophe = ApostropheAt(text, end);
    const bool negated = apostrophe > 0 && end > i + 1 &&
                         absl::ascii_tolower(static_cast<unsigned char>(text[end - 1])) == 'n' &&
                         absl::EqualsIgnoreCase(text.substr(end + apostrophe, 1), "t") &&
                         CliticEnd(text, end) == end + apostrophe + 1;
    if (negated) {  // "do" "n't"
      add(i, end - 1);
      add(end - 1, end + apostrophe + 1);
      i = end + apostrophe + 1;
      continue;
    }
    add(i, end);
    i = end;
  }
  return tokens;
}

bool IsMarker(absl::string_view token) {
  if (absl::StartsWith(token, "@")) {
    return token == "@placeholder" || absl::StartsWith(token, "@entity");
  }
  return token.size() >= 3 && token.find_first_not_of('X') == absl::string_view::npos;
}

}  // namespace concur::readers
