// SPDX-License-Identifier: Apache-2.0
// Differences between values and those of an original.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_DIFFERENCES_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_DIFFERENCES_H_

#include <torch/torch.h>

#include <limits>
#include <string>

#include "studies/readers/files/safetensors.h"
#include "tests/studies/readers/check/result.h"

namespace concur::readers {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The largest |a - b|, divided by the largest finite |b| where that exceeds 1: scores of such sizes
// have no more digits. Equal infinities do not differ; infinite where shapes differ or one value is
// not a number.
double LargestDifference(const torch::Tensor& computed, const torch::Tensor& expected);

// Compares the gradients of the network's parameters with those of the same names; sets `gradients`
// and `gradients_at`. REQUIRES: the names are those of the network's state.
void CompareGradients(const torch::nn::Module& network, const SafeTensors& gradients,
                      CheckResult& result);

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_DIFFERENCES_H_
