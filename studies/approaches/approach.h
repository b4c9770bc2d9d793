// SPDX-License-Identifier: Apache-2.0
// A native approach: a training procedure and the model it produces.
//
// Single-threaded and deterministic: the same data, hyperparameters and seed give the same model
// file and the same answers, bit for bit. Approaches and models are thread-compatible.
#ifndef CONCUR_STUDIES_APPROACHES_APPROACH_H_
#define CONCUR_STUDIES_APPROACHES_APPROACH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/example.h"
#include "studies/approaches/model_file.h"
#include "studies/approaches/parameters.h"
#include "studies/approaches/text.h"

namespace concur::approaches {

// Tokens [first, last] of a passage, both included.
struct TokenSpan {
  int32_t first = 0;
  int32_t last = 0;

  friend bool operator==(const TokenSpan&, const TokenSpan&) = default;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual void Save(ModelWriter& writer) const = 0;
  // The answer: tokens of the passage. REQUIRES: the passage has a token.
  virtual TokenSpan Answer(const PassageText& passage, const qa::Question& question) const = 0;
};

class Approach {
 public:
  virtual ~Approach() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;  // one line
  // Changes when the same model file or data would give other answers; part of the model file.
  virtual uint32_t version() const = 0;
  virtual std::vector<ParameterSpec> parameters() const = 0;
  // InvalidArgument when the data cannot be learned from.
  virtual absl::StatusOr<std::unique_ptr<Model>> Train(const qa::Dataset& data,
                                                       const Parameters& parameters,
                                                       uint64_t seed) const = 0;
  // DataLoss when the reader's bytes are not a model of this approach.
  virtual absl::StatusOr<std::unique_ptr<Model>> Load(ModelReader& reader) const = 0;
};

// Every native approach, in the order of listings.
const std::vector<std::unique_ptr<Approach>>& AllApproaches();

// NotFound, with a suggestion, for unknown names.
absl::StatusOr<const Approach*> FindApproach(absl::string_view name);

std::unique_ptr<Approach> MakeRandomSpan();
std::unique_ptr<Approach> MakeSlidingWindow(bool with_distance);
std::unique_ptr<Approach> MakeLogisticRegression();
std::unique_ptr<Approach> MakeMaxMargin();
std::unique_ptr<Approach> MakeNeuralReader();

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_APPROACH_H_
