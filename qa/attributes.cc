// SPDX-License-Identifier: Apache-2.0
#include "qa/attributes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/suggest.h"
#include "qa/normalize.h"

namespace concur::qa {
namespace {

constexpr std::array<Attribute, 4> kAll = {Attribute::kQuestionLength, Attribute::kPassageLength,
                                           Attribute::kAnswerType, Attribute::kAgreement};

std::vector<absl::string_view> WordsOf(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t\r\n\f\v"), absl::SkipEmpty());
}

// "008 to 010 words": the bin that `count` falls into; `starts` ascend.
std::string Bin(size_t count, const std::vector<size_t>& starts) {
  if (count < starts.front()) {
    return absl::StrFormat("000 to %03d words", starts.front() - 1);
  }
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    if (count < starts[i + 1]) {
      return absl::StrFormat("%03d to %03d words", starts[i], starts[i + 1] - 1);
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

std::string AnswerType(absl::string_view answer) {
  const std::vector<absl::string_view> words = WordsOf(answer);
  if (HasYear(answer) || std::any_of(words.begin(), words.end(), IsMonth)) {
    return "date";
  }
  if (std::any_of(answer.begin(), answer.end(),
                  [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); })) {
    return "number";
  }
  if (!words.empty() && StartsUpper(words.front()) && StartsUpper(words.back())) {
    return "name";
  }
  constexpr size_t kPhraseWordsMax = 5;
  return words.size() > kPhraseWordsMax ? "long phrase" : "phrase";
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

absl::StatusOr<Attribute> ParseAttribute(absl::string_view name) {
  for (const Attribute attribute : kAll) {
    if (AttributeName(attribute) == name) {
      return attribute;
    }
  }
  std::vector<std::string> names;
  names.reserve(std::size(kAll));
  for (const Attribute attribute : kAll) {
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
    case Attribute::kAgreement:
      return Agreement(question.answers);
  }
  return "";
}

}  // namespace concur::qa
