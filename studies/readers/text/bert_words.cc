// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, models/bert/tokenization_bert.py (BasicTokenizer); tokenizers (Rust),
// normalizers/bert.rs, pre_tokenizers/bert.rs.
#include "studies/readers/text/bert_words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "absl/strings/ascii.h"

namespace concur::readers {
namespace {

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

// True for characters to drop: control and format ones, private use, U+FFFD, and in Python's tables
// those that are not assigned.
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

// Adds the character to the word, by the options.
void AddBertCharacter(UChar32 c, uint32_t begin, uint32_t end, const BertWordOptions& options,
                      std::vector<BertCharacter>& word) {
  constexpr UChar32 kCapitalSigma = 0x3A3;
  constexpr UChar32 kDottedI = 0x130;
  constexpr UChar32 kDotAbove = 0x307;
  const UChar32 lower = options.lower_case ? u_tolower(c) : c;
  if (!options.strips_accents() || lower < 0x80) {
    word.push_back({lower, begin, end, options.lower_case && c == kCapitalSigma});
    if (options.lower_case && !options.strips_accents() && c == kDottedI) {
      word.push_back({kDotAbove, begin, end});
    }
    return;
  }
  ForEachDecomposed(lower, Decomposition::kCanonical, [&](int32_t part) {
    if (CategoryOf(part, options.implementation) != U_NON_SPACING_MARK) {
      word.push_back({part, begin, end, options.lower_case && c == kCapitalSigma});
    }
  });
}

// Python's lower case of a capital sigma after a letter, and not before one, is the final sigma.
void EndSigmas(std::vector<BertCharacter>& word) {
  constexpr UChar32 kFinalSigma = 0x3C2;
  const auto has = [&](size_t i, UProperty property) {
    return u_hasBinaryProperty(word[i].code_point, property) != 0;
  };
  for (size_t at = 0; at < word.size(); ++at) {
    if (!word[at].capital_sigma) {
      continue;
    }
    size_t before = at;
    while (before > 0 && has(before - 1, UCHAR_CASE_IGNORABLE)) {
      --before;
    }
    size_t after = at + 1;
    while (after < word.size() && has(after, UCHAR_CASE_IGNORABLE)) {
      ++after;
    }
    if (before > 0 && has(before - 1, UCHAR_CASED) &&
        (after == word.size() || !has(after, UCHAR_CASED))) {
      word[at].code_point = kFinalSigma;
    }
  }
}

// Puts marks that follow each other into canonical order. A character that others pass begins where
// the first of these does, so that pieces begin in the order of the text.
void SortMarks(std::vector<BertCharacter>& word) {
  const auto is_mark = [](const BertCharacter& c) { return u_getCombiningClass(c.code_point) > 0; };
  for (auto first = std::find_if(word.begin(), word.end(), is_mark); first != word.end();) {
    const auto last = std::find_if_not(first, word.end(), is_mark);
    std::stable_sort(first, last, [](const BertCharacter& a, const BertCharacter& b) {
      return u_getCombiningClass(a.code_point) < u_getCombiningClass(b.code_point);
    });
    for (auto place = last - 1; place != first; --place) {
      (place - 1)->begin = std::min((place - 1)->begin, place->begin);
    }
    first = std::find_if(last, word.end(), is_mark);
  }
}

std::string TextOfCharacters(absl::Span<const BertCharacter> characters) {
  std::string text;
  for (const BertCharacter& character : characters) {
    AppendCodePoint(character.code_point, text);
  }
  return text;
}

// Gives the word, cut at punctuation, to `on_word`, and clears it.
void EndBertWord(std::vector<BertCharacter>& word, const BertWordOptions& options,
                 absl::Span<const absl::string_view> kept,
                 absl::FunctionRef<void(absl::Span<const BertCharacter>)> on_word) {
  if (options.lower_case && options.final_sigma) {
    EndSigmas(word);
  }
  if (options.strips_accents()) {
    SortMarks(word);
  }
  constexpr size_t kKeptCharactersMax = 16;
  if (!word.empty() && !kept.empty() && word.size() <= kKeptCharactersMax &&
      std::find(kept.begin(), kept.end(), TextOfCharacters(word)) != kept.end()) {
    on_word(word);
    word.clear();
  }
  const auto is_punctuation = [&](size_t i) {
    return IsBertPunctuation(word[i].code_point, options.implementation);
  };
  for (size_t first = 0; first < word.size();) {
    size_t last = first + 1;
    while (last < word.size() && !is_punctuation(first) && !is_punctuation(last)) {
      ++last;
    }
    on_word(absl::MakeConstSpan(word).subspan(first, last - first));
    first = last;
  }
  word.clear();
}

}  // namespace

void ForEachBertWord(absl::string_view text, uint32_t offset, const BertWordOptions& options,
                     absl::Span<const absl::string_view> kept,
                     absl::FunctionRef<void(absl::Span<const BertCharacter>)> on_word) {
  std::vector<BertCharacter> word;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    const uint32_t begin = offset + static_cast<uint32_t>(at);
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    const uint32_t end = offset + static_cast<uint32_t>(at);
    if (IsDropped(c, options.implementation)) {
      continue;
    }
    const bool alone = options.split_chinese && IsChinese(c);
    if (alone || IsBertSpace(c)) {
      EndBertWord(word, options, kept, on_word);
    }
    if (!IsBertSpace(c)) {
      AddBertCharacter(c, begin, end, options, word);
    }
    if (alone) {
      EndBertWord(word, options, kept, on_word);
    }
  }
  EndBertWord(word, options, kept, on_word);
}

std::vector<std::string> BertWords(absl::string_view text, const BertWordOptions& options) {
  std::vector<std::string> words;
  BertWordOptions whole = options;
  whole.final_sigma = true;
  ForEachBertWord(text, 0, whole, {}, [&](absl::Span<const BertCharacter> word) {
    words.push_back(TextOfCharacters(word));
  });
  return words;
}

}  // namespace concur::readers
