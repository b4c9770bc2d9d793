// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/features.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace concur::readers {

void WriteFeatures(const Annotations& text, const Annotations& other, const FeatureColumns& columns,
                   float* out) {
  const size_t width = columns.size();
  std::fill(out, out + text.size() * width, 0.0F);
  const auto match = [&](const std::vector<int32_t>& own, const std::vector<int32_t>& others,
                         size_t column) {
    const absl::flat_hash_set<int32_t> there(others.begin(), others.end());
    for (size_t i = 0; i < own.size(); ++i) {
      out[i * width + column] = there.contains(own[i]) ? 1.0F : 0.0F;
    }
  };
  match(text.words, other.words, 0);
  match(text.lower, other.lower, 1);
  match(text.lemmas, other.lemmas, 2);
  const auto one_hot = [&](const std::vector<int32_t>& tags, size_t first, size_t count) {
    for (size_t i = 0; i < tags.size() && count > 0; ++i) {
      if (tags[i] >= 0 && static_cast<size_t>(tags[i]) < count) {
        out[i * width + first + static_cast<size_t>(tags[i])] = 1.0F;
      }
    }
  };
  one_hot(text.pos, 3, columns.pos);
  one_hot(text.entities, 3 + columns.pos, columns.entities);
  absl::flat_hash_map<int32_t, int64_t> counts;
  for (const int32_t word : text.lower) {
    ++counts[word];
  }
  for (size_t i = 0; i < text.size(); ++i) {
    out[i * width + width - 1] = static_cast<float>(static_cast<double>(counts[text.lower[i]]) /
                                                    static_cast<double>(text.size()));
  }
}

}  // namespace concur::readers
