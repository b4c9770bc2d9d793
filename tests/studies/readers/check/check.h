// SPDX-License-Identifier: Apache-2.0
// Compares a network with what its original computed: a fixture is a folder with config.json (the
// original's options), weights.safetensors, io.safetensors (inputs, scores, loss, best spans) and
// grads.safetensors, under the original's names.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_CHECK_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_CHECK_H_

#include <torch/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/studies/readers/check/originals/data_check.h"
#include "tests/studies/readers/check/result.h"

namespace concur::readers {

struct Comparisons {
  std::vector<CheckResult> networks;
  std::vector<DataCheckResult> texts;
  // Errors of the fixtures that were not compared: they belong to no approach here, or lack a file.
  std::vector<std::string> left_out;

  bool ok() const;  // everything that was compared is equal
};

// NotFound when no approach here has the fixture's weights; other errors name file and tensor.
absl::StatusOr<CheckResult> CheckFixture(const std::string& directory,
                                         torch::Device device = torch::kCPU);

// Compares each of `directories` that is a fixture; of others the fixtures in them, in order of
// name. Texts are compared as CheckDataIn does. NotFound, with its path, for a directory in which
// nothing was compared; other errors are those of CheckFixture and CheckDataIn.
absl::StatusOr<Comparisons> CheckDirectories(const std::vector<std::string>& directories,
                                             const std::string& vocabularies = "",
                                             torch::Device device = torch::kCPU);

// {"fixtures": [{"name", "approach", "forward", "loss", "gradients", "training_compared",
//                "spans_equal", "ok"}],
//  "texts": [{"name", "compared", "different", "first_difference", "ok"}]}
std::string CheckJson(const Comparisons& comparisons);
// Tables for people.
std::string CheckText(const Comparisons& comparisons);

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_CHECK_H_
