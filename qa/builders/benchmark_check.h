// SPDX-License-Identifier: Apache-2.0
// Counts that say whether a benchmark can rank readers: answers that stand in their passages,
// repeated questions, and passages that two data sets share.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_BUILDERS_BENCHMARK_CHECK_H_
#define CONCUR_QA_BUILDERS_BENCHMARK_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace concur::qa {

struct QuestionCounts {
  int64_t passages = 0;
  int64_t questions = 0;
  int64_t repeated = 0;    // the text and the passage of an earlier one
  int64_t answerable = 0;  // an answer stands in the passage, after SQuAD's normalization
};
// Errors: those of ForEachPassage.
absl::StatusOr<QuestionCounts> CountQuestions(const std::string& path);

struct SharedPassages {
  int64_t passages = 0;
  int64_t shared = 0;
};
// Runs of so many words are what a contaminated text has in common with its source (Brown et al.,
// NeurIPS 2020, appendix C).
inline constexpr size_t kSharedWords = 13;
// Passages of `path`, and how many share kSharedWords normalized words in a row (a shorter passage:
// all its words) with one of `other`. Reads `path` twice and keeps 8 bytes a word of it. Errors:
// those of ForEachPassage; ResourceExhausted for a `path` of more than 100 million words.
absl::StatusOr<SharedPassages> CountSharedPassages(const std::string& path,
                                                   const std::string& other);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_BENCHMARK_CHECK_H_
