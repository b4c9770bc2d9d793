// SPDX-License-Identifier: Apache-2.0
// Passages and questions as tokens. A token has hashes of its lower-case form and of its stem
// instead of their texts, as features are hashed anyway.
//
// PassageText and QuestionText are values; functions are pure.
#ifndef CONCUR_STUDIES_APPROACHES_TEXT_H_
#define CONCUR_STUDIES_APPROACHES_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "qa/example.h"

namespace concur::approaches {

// A hash that is the same in every process and on every machine.
using Hash = uint64_t;
Hash HashOf(absl::string_view text);
constexpr Hash Mix(Hash a, Hash b) {
  Hash h = (a ^ (b * 0x9E3779B97F4A7C15ULL)) * 0xFF51AFD7ED558CCDULL;
  h ^= h >> 32;
  return h * 0xC4CEB9FE1A85EC53ULL;
}

// The form of a token.
enum class Shape : uint8_t {
  kPunctuation,
  kLower,    // "cat"
  kTitle,    // "Cat", "McCoy"
  kUpper,    // "NATO", "U.S."
  kNumber,   // "12", "3.5", "1,000"
  kYear,     // four digits from 1000 to 2100
  kMixed,    // "4th", "B2"
  kMonth,    // "March"
  kNumeral,  // "seven", "million"
};

struct Token {
  int32_t begin = 0;  // bytes of the text, half open
  int32_t end = 0;
  Hash word = 0;  // hash of the lower-case form
  Hash stem = 0;
  Hash suffix = 0;  // hash of the last three characters of the lower-case form
  Shape shape = Shape::kLower;
  bool stop = false;     // a function word
  bool article = false;  // a, an, the
  char first = 0;        // first byte, for punctuation
};

// Splits at white space and around punctuation, never inside a character.
std::vector<Token> Tokenize(absl::string_view text);

struct PassageText {
  explicit PassageText(absl::string_view context);

  // The text of tokens [first, last].
  absl::string_view Text(int32_t first, int32_t last) const {
    return absl::string_view(context).substr(
        static_cast<size_t>(tokens[static_cast<size_t>(first)].begin),
        static_cast<size_t>(tokens[static_cast<size_t>(last)].end -
                            tokens[static_cast<size_t>(first)].begin));
  }
  int32_t size() const { return static_cast<int32_t>(tokens.size()); }

  std::string context;
  std::vector<Token> tokens;
  std::vector<int32_t> sentence;         // index of each token's sentence
  std::vector<int32_t> sentence_starts;  // first token of each sentence, then size()
};

// The kind of answer that a question asks for.
enum class QuestionKind : uint8_t {
  kWho,
  kWhose,
  kWhat,
  kWhich,
  kWhen,
  kWhere,
  kWhy,
  kHow,
  kHowMany,
  kHowMuch,
  kCloze,  // a blank instead of a question word
  kOther,
};

struct QuestionText {
  explicit QuestionText(absl::string_view text);

  std::vector<Token> tokens;
  QuestionKind kind = QuestionKind::kOther;
  int32_t blank = 0;  // the question word or the blank; tokens.size() when there is neither
  Hash focus = 0;     // stem of the content word after the question word ("what year"), or 0
  Hash verb = 0;      // stem of the next content word after the focus, or 0
};

// The spans of a question's answers as token ranges: the marked spans, or every occurrence of
// an answer's text in the passage if there are none. Ends inside a token move to the token's ends.
std::vector<std::pair<int32_t, int32_t>> AnswerSpans(const PassageText& passage,
                                                     const qa::Question& question);

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_TEXT_H_
