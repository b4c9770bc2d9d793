// SPDX-License-Identifier: Apache-2.0
// Characters are read once for each different word of a batch: texts repeat most words.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_LAYERS_UNIQUE_WORDS_H_
#define CONCUR_STUDIES_READERS_LAYERS_UNIQUE_WORDS_H_

#include <torch/torch.h>

namespace concur::readers {

// `read` makes rows [N', D] of different words [N', C]; → [B, T, D] of all words [B, T, C].
template <typename Read>
torch::Tensor ForEachWord(const torch::Tensor& characters, const Read& read) {
  const auto [words, places, counts] =
      torch::unique_dim(characters.flatten(0, 1), 0, true, true, false);
  return read(words).index_select(0, places).view({characters.size(0), characters.size(1), -1});
}

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_UNIQUE_WORDS_H_
