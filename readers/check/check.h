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

namespace concur::readers {

// The largest differences that are still equal.
constexpr double kScoreTolerance = 1e-5;     // of scores and the loss
constexpr double kGradientTolerance = 1e-4;  // relative

struct CheckResult {
  std::string name;      // of the folder
  std::string approach;  // that it was recognised as
  // The largest difference of a score, relative to the largest score where that exceeds 1; the
  // same of the loss.
  double forward = 0;
  double loss = 0;
  // The largest difference of a gradient, relative to the largest of its tensor, or, where that is
  // rounding noise, to a hundredth of the largest of all.
  double gradients = 0;
  bool spans_equal = true;
  // False when the fixture's training pass cannot be compared, since it had dropout on: it scores a
  // question without padding otherwise than its evaluation. Loss and gradients count as equal then.
  bool training_compared = true;
  // Where the largest differences are, and which spans differ.
  std::string forward_at, gradients_at, spans_at;

  bool ok() const {
    return forward <= kScoreTolerance && loss <= kScoreTolerance &&
           gradients <= kGradientTolerance && spans_equal;
  }
};

// NotFound when no approach here has the fixture's weights; other errors name file and tensor.
absl::StatusOr<CheckResult> CheckFixture(const std::string& directory,
                                         torch::Device device = torch::kCPU);

// Checks each of `directories` that has a config.json; of others the fixtures in them, in order of
// name, without those that belong to no approach here. NotFound when nothing is left.
absl::StatusOr<std::vector<CheckResult>> CheckFixtures(const std::vector<std::string>& directories,
                                                       torch::Device device = torch::kCPU);

// {"fixtures": [{"name", "forward", "loss", "gradients", "spans_equal", "ok"}]}
std::string CheckJson(const std::vector<CheckResult>& results);
// A table for people.
std::string CheckText(const std::vector<CheckResult>& results);

}  // namespace concur::readers

#endif  // CONCUR_READERS_CHECK_CHECK_H_
