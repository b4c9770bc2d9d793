// SPDX-License-Identifier: Apache-2.0
// Attributes that divide test examples into strata, to find what makes a new test set harder than
// an old one.
//
// Thread-safe (stateless). Every example is in exactly one stratum of an attribute.
#ifndef CONCUR_QA_ATTRIBUTES_H_
#define CONCUR_QA_ATTRIBUTES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/example.h"

namespace concur::qa {

//   kQuestionLength, kPassageLength: words, which are runs of anything but white space, in bins.
//   kAnswerType, of the first gold answer, by the first rule that fits: "date" (an English month's
//     name, or a number from 1000 to 2099), "number" (a digit), "name" (its first and last word
//     start with an upper-case letter), "long phrase" (more than five words), "phrase".
//   kAgreement, of the gold answers after SQuAD's normalization: "one answer" (only one is given),
//     "all agree", "most agree" (more than half are the same), "split".
enum class Attribute { kQuestionLength, kPassageLength, kAnswerType, kAgreement };
// "question-length", "passage-length", "answer-type", "agreement"; InvalidArgument for others.
absl::StatusOr<Attribute> ParseAttribute(absl::string_view name);
absl::string_view AttributeName(Attribute attribute);

// The example's stratum; names of bins sort in the order of their bins.
// REQUIRES: at least one answer.
std::string StratumOf(Attribute attribute, const Passage& passage, const Question& question);

}  // namespace concur::qa

#endif  // CONCUR_QA_ATTRIBUTES_H_
