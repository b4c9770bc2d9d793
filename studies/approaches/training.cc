// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/training.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "studies/approaches/candidates.h"
#include "studies/approaches/math.h"

namespace concur::approaches {

absl::StatusOr<std::vector<PassageText>> ReadTrainingPassages(const qa::Dataset& data,
                                                              DocumentFrequency& frequency,
                                                              int32_t& tokens_max) {
  std::vector<PassageText> passages;
  passages.reserve(data.passages.size());
  for (const qa::Passage& passage : data.passages) {
    frequency.Add(passages.emplace_back(passage.context));
  }
  tokens_max = LongestAnswer(passages, data, tokens_max);
  if (tokens_max == 0) {
    return absl::InvalidArgumentError(
        "no question has an answer that is a span of its passage; there is nothing to learn from");
  }
  return passages;
}

std::vector<std::pair<size_t, size_t>> QuestionIndexes(const qa::Dataset& data) {
  std::vector<std::pair<size_t, size_t>> indexes;
  for (size_t p = 0; p < data.passages.size(); ++p) {
    for (size_t q = 0; q < data.passages[p].questions.size(); ++q) {
      indexes.emplace_back(p, q);
    }
  }
  return indexes;
}

void LikelihoodGradient(const std::vector<int32_t>& gold, std::vector<double>& scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = Exp(score - top);
    sum += score;
  }
  for (double& score : scores) {
    score /= sum;
  }
  double right = 0;
  for (const int32_t i : gold) {
    right += scores[static_cast<size_t>(i)];
  }
  for (const int32_t i : gold) {
    double& probability = scores[static_cast<size_t>(i)];
    probability -= probability / std::max(right, 1e-12);
  }
}

}  // namespace concur::approaches
