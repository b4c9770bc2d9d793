// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/dropout.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random.h"

namespace concur::readers {

torch::Tensor DropoutNoise(const torch::Tensor& x, double rate) {
  if (!x.device().is_cpu()) {
    return torch::dropout(torch::ones_like(x), rate, true);
  }
  const auto seed = static_cast<uint64_t>(
      torch::randint(std::numeric_limits<int64_t>::max(), {1}, torch::kInt64).item<int64_t>());
  torch::Tensor noise = torch::empty(x.sizes(), torch::kFloat32);
  auto* values = noise.data_ptr<float>();
  Random random(seed, "dropout");
  // Half of a random number decides about a value.
  const auto dropped_below = static_cast<uint32_t>(std::lround(rate * 0xFFFFFFFFp0));
  const auto kept = static_cast<float>(1 / (1 - rate));
  const int64_t count = noise.numel();
  for (int64_t i = 0; i < count; i += 2) {
    const uint64_t number = random.Next();
    values[i] = static_cast<uint32_t>(number) < dropped_below ? 0 : kept;
    if (i + 1 < count) {
      values[i + 1] = static_cast<uint32_t>(number >> 32) < dropped_below ? 0 : kept;
    }
  }
  return noise.to(x.dtype());
}

}  // namespace concur::readers
