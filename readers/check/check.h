// SPDX-License-Identifier: Apache-2.0
// Compares a network with what its original computed: a fixture is a folder with config.json (the
// original's options), weights.safetensors, io.safetensors (inputs, scores, loss, best spans) and
// grads.safetensors, under the original's names.
//
// Thread-compatible.
#ifndef CONCUR_READERS_CHECK_CHECK_H_
#define CONCUR_READERS_CHECK_CHECK_H_

#include <torch/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "readers/check/result.h"
#include "readers/originals/data_check.h"

namespace concur::readers {

// NotFound when no approach here has the fixture's weights; other errors name file and tensor.
absl::StatusOr<CheckResult> CheckFixture(const std::string& directory,
                                         torch::Device device = torch::kCPU);

// Checks each of `directories` that has a config.json; of others the fixtures in them, in order of
// name, without those that belong to no approach here. NotFound when nothing is left.
absl::StatusOr<std::vector<CheckResult>> CheckFixtures(const std::vector<std::string>& directories,
                                                       torch::Device device = torch::kCPU);

// {"fixtures": [{"name", "forward", "loss", "gradients", "spans_equal", "ok"}],
//  "texts": [{"name", "compared", "different", "ok"}]}
std::string CheckJson(const std::vector<CheckResult>& results,
                      const std::vector<DataCheckResult>& texts = {});
// Tables for people.
std::string CheckText(const std::vector<CheckResult>& results,
                      const std::vector<DataCheckResult>& texts = {});

}  // namespace concur::readers

#endif  // CONCUR_READERS_CHECK_CHECK_H_
