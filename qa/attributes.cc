// SPDX-License-Identifier: Apache-2.0
#include "qa/attributes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/suggest.h"
#include "qa/normalize.h"

namespace concur::qa {
namespace {

std::vector<absl::string_view> WordsOf(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t\r\n\f\v"), absl::SkipEmpty());
}

// "008 to 010 words", or "003 words" of a single length.
std::string BinName(size_t first, size_t last) {
  return first == last ? absl::StrFormat("%03d words", first)
                       : absl::StrFormat("%03d to %03d words", first, last);
}

// The bin that `count` falls into; `starts` ascend, the first above 0.
std::string Bin(size_t count, const std::vector<size_t>& starts) {
  if (count < starts.front()) {
    return BinName(0, starts.front() - 1);
  }
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    if (count < starts[i + 1]) {
      return BinName(starts[i], starts[i + 1] - 1);
    }
  }
  return absl::StrFormat("%03d words or more", starts.back());
}

bool StartsUpper(absl::string_view word) {
  return !word.empty() && word[0] >= 'A' && word[0] <= 'Z';
}

bool IsMonth(absl::string_view word) {
  constexpr std::array<absl::string_view, 12> kMonths = {
      "january", "february", "march",     "april",   "may",      "june",
      "july",    "august",   "september", "october", "november", "december"};
  // "may" and "march" are words, too.
  return StartsUpper(word) &&
         std::find(kMonths.begin(), kMonths.end(),
                   absl::AsciiStrToLower(absl::StripSuffix(word, ","))) != kMonths.end();
}

// A number from 1000 to 2099 that stands by itself.
bool HasYear(absl::string_view text) {
  for (size_t i = 0; i + 4 <= text.size(); ++i) {
    const absl::string_view four = text.substr(i, 4);
    const bool digits = std::all_of(four.begin(), four.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c));
    });
    const bool alone =
        (i == 0 || !absl::ascii_isalnum(static_cast<unsigned char>(text[i - 1]))) &&
        (i + 4 == text.size() || !absl::ascii_isalnum(static_cast<unsigned char>(text[i + 4])));
    const bool part_of_number =
        (i >= 2 && (text[i - 1] == ',' || text[i - 1] == '.') &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[i - 2]))) ||
        (i + 5 < text.size() && (text[i + 4] == ',' || text[i + 4] == '.') &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[i + 5])));
    if (digits && alone && !part_of_number && (four[0] == '1' || four.substr(0, 2) == "20")) {
      return true;
    }
  }
  return false;
}

constexpr size_t kPhraseWordsMax = 5;

bool IsDate(absl::string_view answer, const std::vector<absl::string_view>& words) {
  return HasYear(answer) || std::any_of(words.begin(), words.end(), IsMonth);
}

bool HasDigit(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

bool IsName(const std::vector<absl::string_view>& words) {
  return !words.empty() && StartsUpper(words.front()) && StartsUpper(words.back());
}

std::string AnswerType(absl::string_view answer) {
  const std::vector<absl::string_view> words = WordsOf(answer);
  if (IsDate(answer, words)) {
    return "date";
  }
  if (HasDigit(answer)) {
    return "number";
  }
  if (IsName(words)) {
    return "name";
  }
  return words.size() > kPhraseWordsMax ? "long phrase" : "phrase";
}

// The word without punctuation around it, in lower case.
std::string PlainWord(absl::string_view word) {
  const auto is_punctuation = [](char c) {
    return absl::ascii_ispunct(static_cast<unsigned char>(c));
  };
  while (!word.empty() && is_punctuation(word.front())) {
    word.remove_prefix(1);
  }
  while (!word.empty() && is_punctuation(word.back())) {
    word.remove_suffix(1);
  }
  return absl::AsciiStrToLower(word);
}

std::vector<std::string> PlainWords(absl::string_view text) {
  std::vector<std::string> words;
  for (const absl::string_view word : WordsOf(text)) {
    std::string plain = PlainWord(word);
    if (!plain.empty()) {
      words.push_back(std::move(plain));
    }
  }
  return words;
}

template <size_t size>
bool AnyOf(const std::vector<std::string>& words,
           const std::array<absl::string_view, size>& wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

bool IsOrdinal(const std::string& word) {
  constexpr std::array<absl::string_view, 12> kInWords = {"first", "second", "third",    "fourth",
                                                          "fifth", "sixth",  "seventh",  "eighth",
                                                          "ninth", "tenth",  "eleventh", "twelfth"};
  constexpr std::array<absl::string_view, 4> kEnds = {"st", "nd", "rd", "th"};
  if (std::find(kInWords.begin(), kInWords.end(), word) != kInWords.end()) {
    return true;
  }
  absl::string_view digits = word;
  for (const absl::string_view end : kEnds) {
    if (absl::ConsumeSuffix(&digits, end)) {
      return !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
    }
  }
  return false;
}

std::string AnswerForm(absl::string_view answer) {
  constexpr std::array<absl::string_view, 8> kCurrencies = {"dollar", "dollars", "pound", "pounds",
                                                            "euro",   "euros",   "cents", "yen"};
  constexpr std::array<absl::string_view, 13> kNumbers = {
      "zero",  "one",   "two",  "three", "four",   "five",  "six",
      "seven", "eight", "nine", "ten",   "eleven", "twelve"};
  const std::vector<absl::string_view> words = WordsOf(answer);
  const std::vector<std::string> plain = PlainWords(answer);
  const bool has_digit = HasDigit(answer);
  // The signs of the pound, yen and euro in UTF-8.
  if (has_digit && (absl::StrContains(answer, "$") || absl::StrContains(answer, "\xC2\xA3") ||
                    absl::StrContains(answer, "\xC2\xA5") ||
                    absl::StrContains(answer, "\xE2\x82\xAC") || AnyOf(plain, kCurrencies))) {
    return "money";
  }
  if (has_digit && (absl::StrContains(answer, "%") ||
                    AnyOf(plain, std::array<absl::string_view, 1>{"percent"}))) {
    return "percentage";
  }
  if (IsDate(answer, words)) {
    return "date";
  }
  if (plain.size() == 1 && IsOrdinal(plain[0])) {
    return "ordinal";
  }
  if (has_digit) {
    return plain.size() > 1 ? "quantity" : "number";
  }
  if (plain.size() == 1 && AnyOf(plain, kNumbers)) {
    return "number";
  }
  if (words.size() == 1 && words[0].size() > 1 &&
      std::all_of(words[0].begin(), words[0].end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return "abbreviation";
  }
  if (IsName(words)) {
    return words.size() == 1 ? "name of one word" : "name of several words";
  }
  return words.size() <= 1 ? "word" : words.size() > kPhraseWordsMax ? "long phrase" : "phrase";
}

std::string QuestionWord(absl::string_view question) {
  constexpr std::array<absl::string_view, 6> kWords = {"what",  "when", "where",
                                                       "which", "who",  "why"};
  const std::vector<std::string> words = PlainWords(question);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "how") {
      const bool counts =
          i + 1 < words.size() && (words[i + 1] == "many" || words[i + 1] == "much");
      return counts ? "how many" : "how";
    }
    if (words[i] == "whom" || words[i] == "whose") {
      return "who";
    }
    if (std::find(kWords.begin(), kWords.end(), words[i]) != kWords.end()) {
      return words[i];
    }
  }
  return "other";
}

std::string Agreement(const std::vector<std::string>& answers) {
  if (answers.size() == 1) {
    return "one answer";
  }
  std::map<std::string, size_t> counts;
  size_t most = 0;
  for (const std::string& answer : answers) {
    most = std::max(most, ++counts[NormalizeAnswer(answer)]);
  }
  return counts.size() == 1 ? "all agree" : 2 * most > answers.size() ? "most agree" : "split";
}

}  // namespace

const std::vector<Attribute>& AllAttributes() {
  static const auto& all = *new std::vector<Attribute>{
      Attribute::kQuestionLength, Attribute::kPassageLength, Attribute::kAnswerType,
      Attribute::kAnswerForm,     Attribute::kQuestionWord,  Attribute::kOverlap,
      Attribute::kAgreement};
  return all;
}

size_t LongestOverlap(absl::string_view question, absl::string_view passage) {
  constexpr size_t kQuestionWordsMax = 1'000;
  std::vector<std::string> asked = PlainWords(question);
  asked.resize(std::min(asked.size(), kQuestionWordsMax));
  // runs[i]: the length of the run that ends with asked[i - 1] and the passage's present word.
  std::vector<size_t> runs(asked.size() + 1, 0);
  size_t longest = 0;
  for (const std::string& word : PlainWords(passage)) {
    for (size_t i = asked.size(); i > 0; --i) {
      runs[i] = asked[i - 1] == word ? runs[i - 1] + 1 : 0;
      longest = std::max(longest, runs[i]);
    }
  }
  return longest;
}

absl::StatusOr<Attribute> ParseAttribute(absl::string_view name) {
  for (const Attribute attribute : AllAttributes()) {
    if (AttributeName(attribute) == name) {
      return attribute;
    }
  }
  std::vector<std::string> names;
  for (const Attribute attribute : AllAttributes()) {
    names.emplace_back(AttributeName(attribute));
  }
  return absl::InvalidArgumentError(absl::StrCat("by: ", ExpectedOneOf(names, name)));
}

absl::string_view AttributeName(Attribute attribute) {
  switch (attribute) {
    case Attribute::kQuestionLength:
      return "question-length";
    case Attribute::kPassageLength:
      return "passage-length";
    case Attribute::kAnswerType:
      return "answer-type";
    case Attribute::kAnswerForm:
      return "answer-form";
    case Attribute::kQuestionWord:
      return "question-word";
    case Attribute::kOverlap:
      return "overlap";
    case Attribute::kAgreement:
      return "agreement";
  }
  return "";
}

std::string StratumOf(Attribute attribute, const Passage& passage, const Question& question) {
  switch (attribute) {
    case Attribute::kQuestionLength:
      return Bin(WordsOf(question.text).size(), {8, 11, 14, 20});
    case Attribute::kPassageLength:
      return Bin(WordsOf(passage.context).size(), {80, 110, 140, 200});
    case Attribute::kAnswerType:
      return AnswerType(question.answers.front());
    case Attribute::kAnswerForm:
      return AnswerForm(question.answers.front());
    case Attribute::kQuestionWord:
      return QuestionWord(question.text);
    case Attribute::kOverlap:
      return Bin(LongestOverlap(question.text, passage.context), {1, 2, 3, 4, 6, 10});
    case Attribute::kAgreement:
      return Agreement(question.answers);
  }
  return "";
}

}  // namespace concur::qa
