// SPDX-License-Identifier: Apache-2.0
// Compares a pretrained encoder with what the original library computed: scores, states and
// attentions with and without a mask, losses, and gradients.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_ENCODER_CHECK_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_ENCODER_CHECK_H_

#include <torch/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "tests/studies/readers/check/result.h"

namespace concur::readers {

// Errors name file and field; c10::Error for inputs that the network does not take.
// REQUIRES: FamilyOfCheckpoint(directory) is not null.
absl::StatusOr<CheckResult> CompareEncoder(const std::string& directory, torch::Device device);

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_ENCODER_CHECK_H_
