// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/batch.h"

namespace concur::readers {
namespace {

torch::Tensor MoveTo(const torch::Tensor& tensor, torch::Device device) {
  return tensor.defined() ? tensor.to(device) : tensor;
}

}  // namespace

Batch Batch::To(torch::Device device) const {
  Batch moved;
  moved.passage = MoveTo(passage, device);
  moved.question = MoveTo(question, device);
  moved.passage_characters = MoveTo(passage_characters, device);
  moved.question_characters = MoveTo(question_characters, device);
  moved.passage_features = MoveTo(passage_features, device);
  moved.question_features = MoveTo(question_features, device);
  moved.passage_pos = MoveTo(passage_pos, device);
  moved.passage_entities = MoveTo(passage_entities, device);
  moved.passage_mask = MoveTo(passage_mask, device);
  moved.question_mask = MoveTo(question_mask, device);
  moved.starts = MoveTo(starts, device);
  moved.ends = MoveTo(ends, device);
  return moved;
}

}  // namespace concur::readers
