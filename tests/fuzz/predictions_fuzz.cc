// SPDX-License-Identifier: Apache-2.0
// The reader of predictions, and the scorer that gets what it read: figures stay in their ranges.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "qa/score.h"
#include "tests/fuzz/fuzz.h"

namespace {

concur::qa::Dataset Questions() {
  concur::qa::Dataset dataset;
  dataset.passages.resize(1);
  dataset.passages[0].context = "The quick brown fox jumps over the lazy dog.";
  for (const char* id : {"a", "b", "q1", ""}) {
    concur::qa::Question question;
    question.id = id;
    question.text = "Who jumps?";
    question.answers = {"The quick brown fox", "a fox", "\u00c9\u0130"};
    dataset.passages[0].questions.push_back(question);
  }
  return dataset;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const concur::qa::Dataset questions = Questions();
  const absl::StatusOr<concur::qa::Predictions> predictions =
      concur::qa::ReadPredictions(concur::testing::FileWith(concur::testing::Text(data, size)));
  if (!predictions.ok()) {
    CONCUR_CHECK(!predictions.status().message().empty());
    return 0;
  }
  const concur::qa::ScoreReport report = concur::qa::Score(questions, *predictions);
  CONCUR_CHECK(report.n == 4 && report.missing >= 0 && report.missing <= report.n);
  CONCUR_CHECK(report.exact_match >= 0 && report.exact_match <= report.f1 + 1e-9 &&
               report.f1 <= 100 + 1e-9);
  CONCUR_CHECK(report.extra ==
               static_cast<int64_t>(predictions->size()) - (report.n - report.missing));
  CONCUR_CHECK(!concur::qa::PerExampleJsonLines(report).empty());
  return 0;
}
