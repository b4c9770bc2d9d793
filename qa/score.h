// SPDX-License-Identifier: Apache-2.0
// SQuAD's metrics: exact match and F1 of predicted answers, maximum over gold answers.
//
// Thread-safe (stateless functions over values).
#ifndef CONCUR_QA_SCORE_H_
#define CONCUR_QA_SCORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/example.h"
#include "qa/predictions.h"

namespace concur::qa {

// Part of an eval job's content key: changes when any score may change.
inline constexpr char kScorerVersion[] = "squad-1";

// 1 when the normalized texts are equal, else 0.
bool ExactMatch(absl::string_view prediction, absl::string_view gold);

// Harmonic mean of word precision and recall, 0..1. 0 when no word is shared, also for two empty
// texts.
double F1(absl::string_view prediction, absl::string_view gold);

struct ExampleScore {
  std::string id;
  bool exact_match = false;
  double f1 = 0;  // 0..1
  // Value of a metric of any name and range, as ParseExampleScores reads it.
  double value = 0;
  bool missing = false;  // no prediction; counts as 0
  // Texts shared with other questions: the passage and the document (passages with the same title),
  // numbered from 0 in the data set's order; -1: unknown, as a document without a title.
  int64_t passage = -1;
  int64_t document = -1;
  std::string part = {};  // a part of the test set, where a program that scores itself says so
};

struct ScoreReport {
  double exact_match = 0;  // percent of all questions
  double f1 = 0;           // percent
  int64_t n = 0;           // questions
  int64_t exact_matches = 0;
  int64_t missing = 0;                 // questions without a prediction
  int64_t extra = 0;                   // predictions without a question
  std::vector<ExampleScore> examples;  // in the data set's order
};

// Scores every question. Sums run in the data set's order, as the official script's.
// REQUIRES: at least one question.
ScoreReport Score(const Dataset& dataset, const Predictions& predictions);
// The same for the data set at `path`, bit for bit, holding one passage at a time. Errors: those of
// ReadDataset.
absl::StatusOr<ScoreReport> ScoreFile(const std::string& path, const Predictions& predictions);

// Scores altered passages of which the worst counts (AddSent and AddOneSent; Jia and Liang, 2017):
// ids ORIGINAL-SUFFIX are variants of the question ORIGINAL. An original's score is that of its
// variant with the lowest F1, the first of equals; its own only when it has no variant. Examples
// carry the originals' ids, in the data set's order; `missing` counts originals whose worst variant
// has no prediction, which counts 0 (the published script passes over such variants).
// REQUIRES: at least one question.
ScoreReport ScoreWorstOfVariants(const Dataset& dataset, const Predictions& predictions);

// One line per example: {"id": "…", "exact_match": 1, "f1": 0.5, "passage": 3, "document": 0}; EM 0
// or 1, F1 0..1 (shortest text that reads back as the same double); without what is unknown.
std::string PerExampleJsonLines(const ScoreReport& report);

}  // namespace concur::qa

#endif  // CONCUR_QA_SCORE_H_
