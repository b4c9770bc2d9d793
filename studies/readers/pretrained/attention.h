// SPDX-License-Identifier: Apache-2.0
// Softmax attention of several heads. The scores of every token with every other grow with the
// square of the sequence; where those of all tokens would be more than kScoresMax, the queries are
// taken in blocks of kBlockScores. Results are the same but for rounding, since each query's row
// of scores is whole. For gradients the blocks' scores are computed again and not kept (Chen et
// al., 2016, "Training Deep Nets with Sublinear Memory Cost").
//
// Thread-compatible; draws dropout from torch's default generator of the device.
#ifndef CONCUR_STUDIES_READERS_PRETRAINED_ATTENTION_H_
#define CONCUR_STUDIES_READERS_PRETRAINED_ATTENTION_H_

#include <torch/torch.h>

#include <cstdint>

namespace concur::readers {

inline constexpr int64_t kScoresMax = 32 << 20;
// A block's scores, and what is computed from them, stay near the processor.
inline constexpr int64_t kBlockScores = 4 << 20;

struct AttentionOptions {
  double dropout = 0;  // applied to the weights, in training
  bool training = false;
  int64_t scores_max = kScoresMax;
};

// query, key and value [B, heads, T, D], the query scaled already; bias, which is added to scores,
// of a shape that broadcasts to [B, heads, 1, T], or undefined → [B, heads, T, D] in the value's
// type. Softmax is computed in 32 bits where that type has fewer. `weights`, if given, gets those
// of all tokens, [B, heads, T, T], before dropout: there are no blocks then.
torch::Tensor Attention(const torch::Tensor& query, const torch::Tensor& key,
                        const torch::Tensor& value, const torch::Tensor& bias,
                        const AttentionOptions& options, torch::Tensor* weights = nullptr);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_PRETRAINED_ATTENTION_H_
