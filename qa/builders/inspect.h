// SPDX-License-Identifier: Apache-2.0
// Statistics of a data set and the list of its problems.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_BUILDERS_INSPECT_H_
#define CONCUR_QA_BUILDERS_INSPECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace concur::qa {

// Tokens are separated by white space. Means are over questions, so that a passage counts once for
// each question, as in the tables of MRQA 2019.
struct DatasetStats {
  int64_t passages = 0;
  int64_t questions = 0;
  int64_t answers = 0;  // all gold answers
  int64_t questions_with_spans = 0;
  double question_tokens_mean = 0;  // 0 without questions
  double context_tokens_mean = 0;
  double answer_tokens_mean = 0;  // first answer of each question
  double overlap_mean = 0;        // LongestOverlap of question and passage, in words
};

absl::StatusOr<DatasetStats> ComputeStats(const std::string& path);

struct Problem {
  std::string place;  // "7: qas[2]" (a line of MRQA), "data[0].paragraphs[3].qas[1]" (SQuAD)
  std::string id;     // the question's; "" when there is none
  std::string what;
};

struct Validation {
  int64_t passages = 0;
  int64_t questions = 0;
  int64_t problem_count = 0;      // all
  std::vector<Problem> problems;  // the first ones
};

// Reads the whole file and lists its problems: lines that are no passages, missing or repeated
// ids, empty questions, questions without an answer, answers that are empty or that SQuAD's
// normalization leaves empty, spans outside the context, spans that hold none of the answers (after
// normalization). Keeps `problems_max` of them. The status is an error only when the file cannot be
// read at all.
absl::StatusOr<Validation> ValidateDataset(const std::string& path, int64_t problems_max);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_INSPECT_H_
