// SPDX-License-Identifier: Apache-2.0
// Attributes that divide test examples into strata, to find what makes a new test set harder than
// an old one.
//
// Thread-safe (stateless). Every example is in exactly one stratum of an attribute.
#ifndef CONCUR_QA_ATTRIBUTES_H_
#define CONCUR_QA_ATTRIBUTES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/example.h"

namespace concur::qa {

//   kQuestionLength, kPassageLength: words, which are runs of anything but white space, in bins.
//   kAnswerType, of the first gold answer, by the first rule that fits: "date" (an English month's
//     name, or a number from 1000 to 2099), "number" (a digit), "name" (its first and last word
//     start with an upper-case letter), "long phrase" (more than five words), "phrase".
//   kAnswerForm, of the first gold answer, by the first rule that fits: "money" (a digit and a sign
//     or name of a currency), "percentage" (a digit and "%" or "percent"), "date" as above,
//     "ordinal" ("5th", "third"), "quantity" (a digit, and words beside the number), "number" (a
//     digit, or a number from zero to twelve in words), "abbreviation" (one word of upper-case
//     letters, two or more), "name of one word", "name of several words" (names as above), "word",
//     "phrase" (two to five words), "long phrase".
//   kQuestionWord, the first of the question's words that is one: "how many" (or "how much"),
//     "how", "what", "when", "where", "which", "who" (or "whom", "whose"), "why"; else "other".
//   kOverlap, the words of LongestOverlap, in bins.
//   kAgreement, of the gold answers after SQuAD's normalization: "one answer" (only one is given),
//     "all agree", "most agree" (more than half are the same), "split".
enum class Attribute {
  kQuestionLength,
  kPassageLength,
  kAnswerType,
  kAnswerForm,
  kQuestionWord,
  kOverlap,
  kAgreement,
};
// In the order above.
const std::vector<Attribute>& AllAttributes();
// "question-length", "passage-length", "answer-type", "answer-form", "question-word", "overlap",
// "agreement"; InvalidArgument for others.
absl::StatusOr<Attribute> ParseAttribute(absl::string_view name);
absl::string_view AttributeName(Attribute attribute);

// Number of words in the longest run of words that stands in both texts: 0 when they share none.
// Words are what white space separates, without punctuation around them; upper and lower case of
// ASCII letters are the same. Of `question` the first 1,000 words count.
size_t LongestOverlap(absl::string_view question, absl::string_view passage);

// The example's stratum; names of bins sort in the order of their bins.
// REQUIRES: at least one answer.
std::string StratumOf(Attribute attribute, const Passage& passage, const Question& question);

}  // namespace concur::qa

#endif  // CONCUR_QA_ATTRIBUTES_H_
