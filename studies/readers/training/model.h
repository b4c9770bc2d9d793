// SPDX-License-Identifier: Apache-2.0
// A trained reader as a directory: model.json (approach, options, settings, vocabularies and the
// digest of the weights) and weights.safetensors.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_TRAINING_MODEL_H_
#define CONCUR_STUDIES_READERS_TRAINING_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/text/annotator.h"
#include "studies/readers/text/word_vectors.h"
#include "studies/readers/training/batches.h"
#include "studies/readers/training/settings.h"

namespace concur::readers {

struct Model {
  const Approach* approach = nullptr;
  Plan plan;
  uint64_t seed = 0;
  int64_t word_dim = 0;
  BatchMaker batches;
  std::shared_ptr<Reader> network;

  // Seeds torch and makes the network with its authors' initial weights. The network's errors.
  absl::Status MakeNetwork();
  // Sets the rows of word vectors from `rows` (null: there are none) on: those of unknown words as
  // the approach wants them. Words up to `first_row` keep theirs.
  void SetWordVectors(const WordVectorRows* rows, int64_t first_row);
  // Adds those of the words that training has not seen and that have a vector in the file, which
  // must have the model's width.
  absl::Status AddWords(const std::string& vectors, absl::flat_hash_set<std::string> forms);
};

// Annotator for what the approach reads from texts besides tokens.
absl::StatusOr<Annotator> AnnotatorOf(const Inputs& inputs);

absl::Status SaveModel(const std::string& directory, const Model& model);

// NotFound when there is no model; InvalidArgument for one of another approach or version; DataLoss
// for a damaged one.
absl::StatusOr<Model> LoadModel(const std::string& directory);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_MODEL_H_
