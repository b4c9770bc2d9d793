// SPDX-License-Identifier: Apache-2.0
// A data set as tokens: passages, and the questions about them with answers as token ranges.
//
// Values; functions are stateless.
#ifndef CONCUR_STUDIES_READERS_TEXT_EXAMPLES_H_
#define CONCUR_STUDIES_READERS_TEXT_EXAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/example.h"
#include "studies/readers/text/annotator.h"

namespace concur::readers {

// Tokens [first, last], both included.
struct TokenRange {
  int64_t first = 0;
  int64_t last = 0;

  int64_t size() const { return last - first + 1; }
  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

struct ExampleQuestion {
  std::string id;
  AnnotatedText text;
  size_t passage = 0;
  std::vector<std::string> gold;    // the answers' texts
  std::vector<TokenRange> answers;  // where they stand; empty when they are not in the passage
};

struct Examples {
  std::vector<AnnotatedText> passages;
  std::vector<uint32_t> groups;            // each passage's, shared by those that belong together
  std::vector<ExampleQuestion> questions;  // in the data set's order

  // The text of a range of a passage's tokens.
  absl::string_view TextOf(size_t passage, const TokenRange& range) const;
};

// Reads a data set of any form that qa/dataset_io.h knows; its errors.
absl::StatusOr<Examples> ReadExamples(const std::string& path, Annotator& annotator);

// The tokens that the marked spans touch, in the order of the spans; where the source marks none,
// every occurrence of an answer's text between token boundaries.
std::vector<TokenRange> AnswersOf(const AnnotatedText& passage, const qa::Question& question);

// Moves the questions of every `nth` group of passages (qa/passage_groups.h), by seed, to the
// second data set: for validation. Both keep all passages. Of few groups (or one) questions are
// drawn.
struct Split {
  Examples train, held_out;
};
Split HoldOut(Examples examples, int64_t nth, uint64_t seed);

// Exact match and F1 in percent of one answer for each question (qa/score.h).
struct AnswerScores {
  double exact_match = 0;
  double f1 = 0;
};
AnswerScores ScoreAnswers(const Examples& examples, const std::vector<std::string>& answers);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_EXAMPLES_H_
