// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine, compiler and library: the
// generator is xoshiro256** (Blackman and Vigna, 2021), seeded from SHA-256 of
// a seed and the name of a stream. Streams with different names are independent,
// so that a new use of randomness does not change existing ones.
//
// Thread-compatible. The standard library's distributions are not used: their
// results differ between implementations.
#ifndef CONCUR_BASE_RANDOM_H_
#define CONCUR_BASE_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"

namespace concur {

class Random {
 public:
  Random(uint64_t seed, absl::string_view stream);

  // Uniform over all 64-bit values.
  uint64_t Next();
  // Uniform in [0, bound), without modulo bias. REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [low, high], both included. REQUIRES: low <= high.
  int64_t Between(int64_t low, int64_t high);
  // Uniform in [0, 1), a multiple of 2^-53.
  double Uniform();
  // Standard normal (Marsaglia's polar method).
  double Normal();
  // True with probability p.
  bool Chance(double p) { return Uniform() < p; }

  // Fisher–Yates; `container` needs size() and operator[].
  template <typename Container>
  void Shuffle(Container& container) {
    for (size_t i = container.size(); i > 1; --i) {
      using std::swap;
      swap(container[i - 1], container[Below(i)]);
    }
  }

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace concur

#endif  // CONCUR_BASE_RANDOM_H_
