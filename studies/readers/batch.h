// SPDX-License-Identifier: Apache-2.0
// Input and output of a network, and the spans that are made of the output.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_BATCH_H_
#define CONCUR_STUDIES_READERS_BATCH_H_

#include <torch/torch.h>

#include <cstdint>

namespace concur::readers {

// B questions, each with its passage, padded to the longest passage (P tokens), question (Q) and,
// where the approach reads characters, word (C). Tensors that an approach does not ask for (see
// `Inputs` in studies/readers/approaches/approach.h) are undefined. Padding is 0 everywhere.
struct Batch {
  torch::Tensor passage, question;                        // [B, P], [B, Q] int64: word ids
  torch::Tensor passage_characters, question_characters;  // [B, P, C], [B, Q, C] int64
  torch::Tensor passage_features, question_features;      // [B, P, F], [B, Q, F] float
  torch::Tensor passage_pos, passage_entities;            // [B, P] int64: tag ids
  torch::Tensor passage_mask, question_mask;              // [B, P], [B, Q] bool: true at a token
  // The answer's first and last token, both included. Undefined when nothing is to be learned;
  // -1 is a question without an answer, which does not count in the loss.
  torch::Tensor starts, ends;  // [B] int64

  int64_t size() const { return passage.size(0); }
  Batch To(torch::Device device) const;
};

// Output of a network for a batch; not normalised. Most approaches score the first and the last
// token of an answer each; RaSoR scores spans, or both.
struct Scores {
  torch::Tensor starts, ends;  // [B, P]; minus infinity, or the lowest float, at padding
  torch::Tensor spans;         // [B, P, K]: of the span (s, s + k); undefined in most approaches
  torch::Tensor spans_mask;    // [B, P, K] bool: true where s + k is in the passage
};

struct Span {
  int64_t first = 0;  // both included
  int64_t last = 0;
  double score = 0;  // larger is better; comparable within one passage only

  friend bool operator==(const Span&, const Span&) = default;
};

struct Limits {
  int64_t tokens_max = 0;  // tokens in an answer; 0: no limit
  int64_t spans_max = 1;   // number of best spans
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_BATCH_H_
