// SPDX-License-Identifier: Apache-2.0
// A fixture (see tests/studies/readers/check/check.h) as the approach that it belongs to, with its
// options, its inputs as a batch, and its network with the weights loaded.
//
// Immutable once read, except for the network.
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_FIXTURE_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/reader.h"

namespace concur::readers {

struct Fixture {
  std::string directory;
  const Approach* approach = nullptr;
  Options options;
  SafeTensors weights, io, gradients;
  Batch batch;
  std::shared_ptr<Reader> network;  // in evaluation mode; its dropout is 0 where `in_training`
  // True if loss and gradients were taken in training mode, with every dropout 0.
  bool in_training = false;

  std::optional<torch::Tensor> Find(absl::string_view name) const;  // in io
};

// Errors name file and field. NotFound when no approach here has these weights and options, and for
// an absent file.
absl::StatusOr<Fixture> ReadFixture(const std::string& directory);

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_FIXTURE_H_
