// SPDX-License-Identifier: Apache-2.0
// Base of every approach here: a network that scores the spans of a passage as answers to a
// question, the loss that trains it, and the search for the best span.
//
// A Reader is thread-compatible: one thread trains it or predicts with it at a time.
#ifndef CONCUR_STUDIES_READERS_READER_H_
#define CONCUR_STUDIES_READERS_READER_H_

#include <torch/torch.h>

#include <vector>

#include "studies/readers/batch.h"

namespace concur::readers {

class Reader : public torch::nn::Module {
 public:
  // In training mode (`train()`) with dropout, from torch's default generator.
  virtual Scores Forward(const Batch& batch) = 0;

  // The mean over the batch. By default the negative log-likelihood of the first token plus that
  // of the last. REQUIRES: the batch has answers.
  virtual torch::Tensor Loss(const Scores& scores, const Batch& batch) const;

  // For each question the best spans, best first. By default those with the largest product of
  // probabilities, the earliest of equals.
  virtual std::vector<std::vector<Span>> Decode(const Scores& scores, const Batch& batch,
                                                const Limits& limits) const;

  // The matrix of word vectors [words, dimensions]: a parameter, or a buffer when it is never
  // trained. Row 0 is padding.
  virtual torch::Tensor WordVectors() = 0;

  // Tells a network that it has the word vectors it will start training from: copies that it keeps
  // of them follow. Call it after writing to WordVectors().
  virtual void WordVectorsChanged() {}
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_READER_H_
