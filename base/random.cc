// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <bit>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"

namespace concur {

Random::Random(uint64_t seed, absl::string_view stream) {
  Sha256 hasher;
  hasher.UpdateField(absl::StrCat(seed));
  hasher.UpdateField(stream);
  const Digest digest = hasher.Finish();
  for (size_t word = 0; word < state_.size(); ++word) {
    state_[word] = 0;
    for (size_t i = 0; i < 8; ++i) {
      state_[word] |= uint64_t{digest.bytes[word * 8 + i]} << (8 * i);
    }
  }
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t bound) {
  CONCUR_CHECK(bound > 0);
  // Lemire, "Fast random integer generation in an interval" (2019).
  unsigned __int128 product = static_cast<unsigned __int128>(Next()) * bound;
  auto low = static_cast<uint64_t>(product);
  if (low < bound) {
    const uint64_t threshold = -bound % bound;
    while (low < threshold) {
      product = static_cast<unsigned __int128>(Next()) * bound;
      low = static_cast<uint64_t>(product);
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

int64_t Random::Between(int64_t low, int64_t high) {
  CONCUR_CHECK(low <= high);
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const uint64_t offset = span == UINT64_MAX ? Next() : Below(span + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

double Random::Normal() {
  for (;;) {
    const double u = 2 * Uniform() - 1;
    const double v = 2 * Uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) {
      return u * std::sqrt(-2 * std::log(s) / s);
    }
  }
}

}  // namespace concur
