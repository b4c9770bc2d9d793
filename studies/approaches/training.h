// SPDX-License-Identifier: Apache-2.0
// Training steps shared by approaches.
//
// Pure.
#ifndef CONCUR_STUDIES_APPROACHES_TRAINING_H_
#define CONCUR_STUDIES_APPROACHES_TRAINING_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "qa/example.h"
#include "studies/approaches/matching.h"
#include "studies/approaches/text.h"

namespace concur::approaches {

// The passages of training data as tokens, in order. Adds them to `frequency` and lowers
// `tokens_max` to the longest answer. InvalidArgument when no answer is a span of its passage.
absl::StatusOr<std::vector<PassageText>> ReadTrainingPassages(const qa::Dataset& data,
                                                              DocumentFrequency& frequency,
                                                              int32_t& tokens_max);

// The indexes (passage, question) of all questions, in order.
std::vector<std::pair<size_t, size_t>> QuestionIndexes(const qa::Dataset& data);

// Replaces the scores of candidates by the gradient of the negative log likelihood, -log of the
// probability mass of the right candidates under softmax. REQUIRES: `gold` is not empty.
void LikelihoodGradient(const std::vector<int32_t>& gold, std::vector<double>& scores);

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_TRAINING_H_
